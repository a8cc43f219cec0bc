// Package requests sends the same bytes to the relay and to squid: what may be read in two ways is read in one, or refused.
package requests_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/machine"
	"github.com/fairlead-io/fairlead/e2e/machine/machinetest"
	"github.com/fairlead-io/fairlead/e2e/process"
)

// message is a request of a client, with the notes of its row.
type message struct {
	name, request string
	requests      int    // that it is, if more than one
	why           string // the relay does something else than squid
}

// hops are for one connection alone (RFC 9110, section 7.6.1).
var hops = []string{"X-Hop", "Proxy-Connection", "Keep-Alive", "Te", "Http2-Settings", "Proxy-Authorization"}

// origin notes the requests that arrive whole: whether the beginning of one that is broken off arrives is a matter of time.
// Of what is smuggled the beginning is enough.
type origin struct {
	name    string
	mutex   sync.Mutex
	asked   map[string][]string // by the first element of the path
	hopping map[string][]string
}

func (o *origin) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil && !strings.Contains(r.URL.Path, "smuggled") {
		return
	}
	row := strings.Split(r.URL.Path, "/")[1]
	o.mutex.Lock()
	o.asked[row] = append(o.asked[row], r.Method+" "+r.URL.Path)
	for _, name := range hops {
		if r.Header.Get(name) != "" {
			o.hopping[row] = append(o.hopping[row], name)
		}
	}
	if protocol := r.Header.Get("Upgrade"); protocol != "" && protocol != "websocket" {
		o.hopping[row] = append(o.hopping[row], "Upgrade: "+protocol)
	}
	o.mutex.Unlock()
	if strings.HasSuffix(r.URL.Path, "/upgrade") && r.Header.Get("Upgrade") != "" {
		w.Header().Set("Connection", "Upgrade")
		w.Header().Set("Upgrade", "websocket")
		w.WriteHeader(http.StatusSwitchingProtocols)
	}
}

// of returns the requests of a row, and the fields that are not for the origin.
func (o *origin) of(row string) (asked, hopping []string) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	return o.asked[row], o.hopping[row]
}

const (
	user, password = "corp", "p@ss"
	relayPort      = "3130"
	nowhere        = "nowhere.example:443"
)

// lab is a relay and squid, each with an origin of its own behind it.
type lab struct {
	network      *machine.Network
	ours, theirs *origin
}

func newLab(t *testing.T) *lab {
	t.Helper()
	l := &lab{network: machinetest.Network(t)}
	_, err := l.network.StartSquid(t.Context(), machine.SquidOptions{User: user, Password: password, Ports: []int{443, 8081, 8082}, Trusted: machine.CorpAddress})
	controlplanetest.Require(t, err)
	l.ours, l.theirs = l.startOrigin(t, "8081"), l.startOrigin(t, "8082")
	folder := t.TempDir()
	url := "http://" + user + ":" + strings.ReplaceAll(password, "@", "%40") + "@" + net.JoinHostPort(machine.ProxyAddress, strconv.Itoa(machine.ProxyPort))
	controlplanetest.Require(t, os.WriteFile(folder+"/settings", fmt.Appendf(nil, "HTTP_PROXY=%[1]s\nHTTPS_PROXY=%[1]s\nNO_PROXY=\n", url), 0o600))
	program := controlplanetest.Program(t, "fairlead-relay")
	address := net.JoinHostPort(machine.ProxyAddress, relayPort)
	_, err = l.network.Start(t.Context(), machine.DMZ, process.Spec{
		Name: "relay", Path: program, Args: []string{"--listen=" + address, "--proxy=" + folder, "--health-address=127.0.0.1:8099"},
		Ready: l.network.Answers(machine.Corp, address),
	})
	controlplanetest.Require(t, err)
	return l
}

func (l *lab) startOrigin(t *testing.T, port string) *origin {
	t.Helper()
	listener, err := l.network.Listen(t.Context(), machine.Internet, net.JoinHostPort(machine.InternetAddress, port))
	controlplanetest.Require(t, err)
	o := &origin{name: net.JoinHostPort(machine.InternetName, port), asked: map[string][]string{}, hopping: map[string][]string{}}
	machinetest.Serve(t, o.ServeHTTP, listener)
	return o
}

// The table has the relay's statuses, whether the connection stays open, and how many requests the origin got. Where the relay
// does something else than squid, the row says why. It takes ten seconds, in make test.
func TestTheRelayAndSquidReadTheSameRequests(t *testing.T) {
	l := newLab(t)
	const file = "testdata/requests.txt"
	update := os.Getenv("UPDATE") != ""
	want, err := os.ReadFile(file)
	if !update {
		controlplanetest.Require(t, err)
	}
	known := strings.SplitAfter(string(want), "\n")
	lines := make([]string, len(corpus))
	var all sync.WaitGroup
	turns := make(chan struct{}, 8)
	for i, m := range corpus {
		turns <- struct{}{}
		all.Go(func() {
			defer func() { <-turns }()
			var wrong string
			lines[i], wrong = l.line(t, strconv.Itoa(i), m, patience)
			if wrong != "" || !update && (i >= len(known) || lines[i] != known[i]) { // a busy machine answers later
				t.Logf("once more, with more patience: %s%s", lines[i], wrong)
				lines[i], wrong = l.line(t, strconv.Itoa(i)+"-again", m, 10*patience)
			}
			if wrong != "" {
				t.Error(wrong)
			}
		})
	}
	all.Wait()
	table := strings.Join(lines, "")
	if update {
		controlplanetest.Require(t, os.WriteFile(file, []byte(table), 0o644))
		return
	}
	if string(want) != table {
		t.Errorf("%s is not as it was; UPDATE=1 writes it anew:\n%s", file, table)
	}
}

// line sends a message to both. It returns the row of the table. wrong says that they differ without a reason, or do
// not differ though a reason is given.
func (l *lab) line(t *testing.T, row string, m message, patience time.Duration) (line, wrong string) {
	t.Helper()
	request := func(o *origin) string {
		path := "/" + row
		return strings.NewReplacer("ORIGIN/a", o.name+path+"/a", "ORIGIN/smuggled", o.name+path+"/smuggled", "ORIGIN", o.name, " /smuggled", " "+path+"/smuggled", " /a", " "+path+"/a", "NOWHERE", nowhere).Replace(m.request)
	}
	relayed := l.send(t, relayPort, request(l.ours), patience)
	asked, hopping := l.ours.of(row)
	if len(asked) > max(1, m.requests) || strings.Contains(fmt.Sprint(asked), "smuggled") || len(hopping) > 0 || strings.Contains(relayed, "407") {
		t.Errorf("%s: the origin was asked %q, with %q; the client was told %s", m.name, asked, hopping, relayed)
	}
	squid := l.send(t, strconv.Itoa(machine.ProxyPort), request(l.theirs), patience)
	askedBySquid, _ := l.theirs.of(row)
	differ := gist(relayed) != gist(squid) || len(asked) != len(askedBySquid)
	if differ != (m.why != "") {
		wrong = fmt.Sprintf("%s: the relay answers %q, and squid %q; the origin was asked %q, and %q. The row says: %q", m.name, relayed, squid, asked, askedBySquid, m.why)
	}
	line = fmt.Sprintf("%-40s relay %-12s %d   squid %-12s %d   %s", m.name, relayed, len(asked), gist(squid), len(askedBySquid), m.why)
	return strings.TrimRight(line, " ") + "\n", wrong
}

// gist returns the outcome of the first request. Versions of squid word their answers differently.
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
func (l *lab) send(t *testing.T, port, request string, patience time.Duration) string {
	t.Helper()
	conn, err := l.network.Dial(t.Context(), machine.Corp, net.JoinHostPort(machine.ProxyAddress, port))
	controlplanetest.Require(t, err)
	defer conn.Close()                   //nolint:errcheck // it has been read
	_, _ = io.WriteString(conn, request) // who refuses it may not read it all
	controlplanetest.Require(t, conn.SetReadDeadline(time.Now().Add(patience)))
	reader := bufio.NewReader(conn)
	method, _, _ := strings.Cut(strings.TrimSpace(request), " ")
	var statuses []string
	for {
		answer, err := http.ReadResponse(reader, &http.Request{Method: method})
		if err != nil {
			if network, is := err.(net.Error); is && network.Timeout() { //nolint:errorlint // as it comes from the connection
				statuses = append(statuses, "open")
			}
			return strings.Join(statuses, ",")
		}
		statuses = append(statuses, strconv.Itoa(answer.StatusCode))
		if method == http.MethodConnect && answer.StatusCode == http.StatusOK {
			method = http.MethodGet
			continue
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		_ = answer.Body.Close()
	}
}
