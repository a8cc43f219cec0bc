package fabric_test

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/machine"
)

// smuggling is a corpus of requests that a sender and a receiver may cut apart differently (RFC 9112, sections 2.2, 5, 6, 7.1
// and 11.2; RFC 9110, sections 7.6 and 7.8). What comes behind a request asks for /smuggled; ORIGIN stands for the
// destination.
var smuggling = []struct{ name, request string }{
	{"plain", "GET http://ORIGIN/a HTTP/1.1\r\nHost: ORIGIN\r\n\r\n"},
	{"CL.TE", "POST http://ORIGIN/a HTTP/1.1\r\nHost: ORIGIN\r\nContent-Length: 60\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET http://ORIGIN/smuggled HTTP/1.1\r\nHost: ORIGIN\r\n\r\n"},
	{"TE.CL", "POST http://ORIGIN/a HTTP/1.1\r\nHost: ORIGIN\r\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n5c\r\nGET /smuggled HTTP/1.1\r\nHost: ORIGIN\r\nContent-Length: 15\r\n\r\nx=1\r\n0\r\n\r\n"},
	{"TE.TE", "POST http://ORIGIN/a HTTP/1.1\r\nHost: ORIGIN\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\nGET http://ORIGIN/smuggled HTTP/1.1\r\nHost: ORIGIN\r\n\r\n"},
	{"an unknown coding", "POST http://ORIGIN/a HTTP/1.1\r\nHost: ORIGIN\r\nTransfer-Encoding: xchunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\nGET http://ORIGIN/smuggled HTTP/1.1\r\nHost: ORIGIN\r\n\r\n"},
	{"a tab before the coding", "POST http://ORIGIN/a HTTP/1.1\r\nHost: ORIGIN\r\nTransfer-Encoding:\tchunked\r\n\r\n0\r\n\r\n"},
	{"two lengths", "POST http://ORIGIN/a HTTP/1.1\r\nHost: ORIGIN\r\nContent-Length: 3\r\nContent-Length: 5\r\n\r\nabcde"},
	{"one length twice", "POST http://ORIGIN/a HTTP/1.1\r\nHost: ORIGIN\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nabc"},
	{"a length with a sign", "POST http://ORIGIN/a HTTP/1.1\r\nHost: ORIGIN\r\nContent-Length: +3\r\n\r\nabc"},
	{"a list of lengths", "POST http://ORIGIN/a HTTP/1.1\r\nHost: ORIGIN\r\nContent-Length: 3, 3\r\n\r\nabc"},
	{"a blank before the colon", "GET http://ORIGIN/a HTTP/1.1\r\nHost: ORIGIN\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n"},
	{"a folded line", "GET http://ORIGIN/a HTTP/1.1\r\nHost: ORIGIN\r\nX-A: b\r\n Transfer-Encoding: chunked\r\n\r\n"},
	{"a folded first line", "GET http://ORIGIN/a HTTP/1.1\r\n Host: ORIGIN\r\nHost: ORIGIN\r\n\r\n"},
	{"a bare LF", "GET http://ORIGIN/a HTTP/1.1\nHost: ORIGIN\n\n"},
	{"a bare CR", "GET http://ORIGIN/a HTTP/1.1\r\nHost: ORIGIN\r\nX-A: b\rTransfer-Encoding: chunked\r\n\r\n"},
	{"NUL", "GET http://ORIGIN/a HTTP/1.1\r\nHost: ORIGIN\r\nX-A: b\x00c\r\n\r\n"},
	{"chunk extensions", "POST http://ORIGIN/a HTTP/1.1\r\nHost: ORIGIN\r\nTransfer-Encoding: chunked\r\n\r\n3;a=b\r\nabc\r\n0\r\n\r\n"},
	{"a bare LF in an extension", "POST http://ORIGIN/a HTTP/1.1\r\nHost: ORIGIN\r\nTransfer-Encoding: chunked\r\n\r\n3;\nabc\r\n0\r\n\r\nGET http://ORIGIN/smuggled HTTP/1.1\r\nHost: ORIGIN\r\n\r\n"},
	{"a chunk that is too long", "POST http://ORIGIN/a HTTP/1.1\r\nHost: ORIGIN\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcGET\r\n0\r\n\r\n"},
	{"a huge chunk size", "POST http://ORIGIN/a HTTP/1.1\r\nHost: ORIGIN\r\nTransfer-Encoding: chunked\r\n\r\n100000000000000000\r\nabc\r\n0\r\n\r\n"},
	{"a trailer that is a length", "POST http://ORIGIN/a HTTP/1.1\r\nHost: ORIGIN\r\nTransfer-Encoding: chunked\r\nTrailer: Content-Length\r\n\r\n3\r\nabc\r\n0\r\nContent-Length: 50\r\n\r\n"},
	{"another Host", "GET http://ORIGIN/a HTTP/1.1\r\nHost: other.example\r\n\r\n"},
	{"two Hosts", "GET http://ORIGIN/a HTTP/1.1\r\nHost: ORIGIN\r\nHost: other.example\r\n\r\n"},
	{"no Host", "GET http://ORIGIN/a HTTP/1.1\r\n\r\n"},
	{"HTTP/1.0 with a coding", "POST http://ORIGIN/a HTTP/1.0\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n"},
	{"HTTP/0.9", "GET http://ORIGIN/a\r\n\r\n"},
	{"HTTP/2.0", "GET http://ORIGIN/a HTTP/2.0\r\nHost: ORIGIN\r\n\r\n"},
	{"the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"},
	{"an upgrade to h2c", "GET http://ORIGIN/a HTTP/1.1\r\nHost: ORIGIN\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n\r\n"},
	{"a header that Connection names", "GET http://ORIGIN/a HTTP/1.1\r\nHost: ORIGIN\r\nConnection: X-Hop\r\nX-Hop: 1\r\n\r\n"},
	{"a proxy's own headers", "GET http://ORIGIN/a HTTP/1.1\r\nHost: ORIGIN\r\nProxy-Connection: keep-alive\r\nKeep-Alive: timeout=5\r\nTE: trailers\r\n\r\n"},
	{"a body of GET", "GET http://ORIGIN/a HTTP/1.1\r\nHost: ORIGIN\r\nContent-Length: 52\r\n\r\nGET http://ORIGIN/smuggled HTTP/1.1\r\nHost: ORIGIN\r\n\r\n"},
	{"CONNECT with a body", "CONNECT ORIGIN HTTP/1.1\r\nHost: ORIGIN\r\nContent-Length: 5\r\n\r\nabcde"},
	{"a fragment", "GET http://ORIGIN/a#@other.example/ HTTP/1.1\r\nHost: ORIGIN\r\n\r\n"},
	{"a backslash", "GET http://ORIGIN\\@other.example/a HTTP/1.1\r\nHost: ORIGIN\r\n\r\n"},
}

// hops are for one connection alone (RFC 9110, section 7.6.1).
var hops = []string{"X-Hop", "Proxy-Connection", "Keep-Alive", "Te", "Upgrade", "Http2-Settings", "Proxy-Authorization"}

// origin counts the requests that arrive whole: whether the beginning of one that is broken off arrives is a matter of time.
// Of what is smuggled the beginning is enough.
type origin struct {
	name    string
	mutex   sync.Mutex
	asked   []string
	hopping []string
}

func (o *origin) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil && !strings.Contains(r.URL.Path, "smuggled") {
		return
	}
	o.mutex.Lock()
	defer o.mutex.Unlock()
	o.asked = append(o.asked, r.Method+" "+r.URL.Path)
	for _, name := range hops {
		if r.Header.Get(name) != "" {
			o.hopping = append(o.hopping, name)
		}
	}
}

// taken returns the requests for a path or for /smuggled, and takes them away.
func (o *origin) taken(letter string) (asked, hopping []string) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	for _, one := range o.asked {
		if strings.Contains(one, " /"+letter) || strings.Contains(one, "smuggled") {
			asked = append(asked, one)
		}
	}
	hopping = o.hopping
	o.asked, o.hopping = nil, nil
	return asked, hopping
}

func (f *fabric) startOrigin(t *testing.T, number string) *origin {
	t.Helper()
	listener, err := f.network.Listen(t.Context(), machine.Internet, net.JoinHostPort(machine.InternetAddress, number))
	controlplanetest.Require(t, err)
	o := &origin{name: net.JoinHostPort(machine.InternetName, number)}
	server := &http.Server{Handler: o, ErrorLog: log.New(io.Discard, "", 0)}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	return o
}

// The same bytes to the relay and to squid. The table has the relay's statuses, whether the connection stays open, and how many
// requests the origin got.
func testSmuggling(t *testing.T, f *fabric, client *pod) {
	t.Helper()
	ours, theirs := f.startOrigin(t, "8081"), f.startOrigin(t, "8082")
	credentials := "Proxy-Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(nextUser+":"+nextPassword)) + "\r\n"

	var table strings.Builder
	const file = "testdata/smuggling.txt"
	want, err := os.ReadFile(file)
	known := slices.Collect(strings.Lines(string(want)))
	for i, row := range smuggling {
		letter := string("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"[i]) // a late request is of its own row
		request := func(o *origin) string {
			return strings.NewReplacer("ORIGIN/a", o.name+"/"+letter, "ORIGIN", o.name).Replace(row.request)
		}
		try := func(patience time.Duration) string {
			relayed := f.send(t, client, fmt.Sprintf("%s:%d", f.service, port), request(ours), patience)
			asked, hopping := ours.taken(letter)
			if len(asked) > 1 || strings.Contains(fmt.Sprint(asked), "smuggled") || len(hopping) > 0 || strings.Contains(relayed, "407") {
				t.Errorf("%s: the origin was asked %q, with %q; the client was told %s", row.name, asked, hopping, relayed)
			}
			line, rest, _ := strings.Cut(request(theirs), "\n")
			squid := f.send(t, client, fmt.Sprintf("%s:%d", machine.ProxyAddress, machine.ProxyPort), line+"\n"+credentials+rest, patience)
			askedBySquid, _ := theirs.taken(letter)
			return fmt.Sprintf("%-30s relay %-12s %d   squid %-12s %d\n", row.name, relayed, len(asked), gist(squid), len(askedBySquid))
		}
		got := try(patience)
		if i < len(known) && got != known[i] { // a busy machine answers later; what comes too late for the first try is not counted
			t.Logf("once more, with more patience: %s", got)
			rest(t.Context(), 10*patience)
			_, _ = ours.taken(letter)
			_, _ = theirs.taken(letter)
			got = try(10 * patience)
		}
		table.WriteString(got)
	}
	if os.Getenv("UPDATE") != "" {
		controlplanetest.Require(t, os.WriteFile(file, []byte(table.String()), 0o644))
		return
	}
	controlplanetest.Require(t, err)
	if string(want) != table.String() {
		t.Errorf("%s is not as it was; UPDATE=1 writes it anew:\n%s", file, &table)
	}
}

// gist is what matters of squid's answers, which other versions word otherwise: what it made of the first request.
func gist(statuses string) string {
	first, _, _ := strings.Cut(statuses, ",")
	switch status, err := strconv.Atoi(first); {
	case err != nil:
		return first // open, or ended
	case status >= http.StatusBadRequest:
		return "refuses"
	default:
		return "passes on"
	}
}

// patience is for an answer: who waits for more bytes gives none.
const patience = 700 * time.Millisecond

// send returns the statuses of the answers to what may be one request or several.
func (f *fabric) send(t *testing.T, from *pod, proxy, request string, patience time.Duration) string {
	t.Helper()
	conn, err := f.network.Dial(t.Context(), from.network(), proxy)
	controlplanetest.Require(t, err)
	defer conn.Close() //nolint:errcheck // it has been read
	_, err = io.WriteString(conn, request)
	controlplanetest.Require(t, err)
	controlplanetest.Require(t, conn.SetReadDeadline(time.Now().Add(patience)))
	reader := bufio.NewReader(conn)
	var statuses []string
	for {
		answer, err := http.ReadResponse(reader, nil)
		if err != nil {
			if isTimeout(err) {
				statuses = append(statuses, "open")
			}
			return strings.Join(statuses, ",")
		}
		statuses = append(statuses, fmt.Sprint(answer.StatusCode))
		_, _ = io.Copy(io.Discard, answer.Body)
		_ = answer.Body.Close()
	}
}
