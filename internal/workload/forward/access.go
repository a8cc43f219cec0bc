package forward

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"regexp"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/fairlead-io/fairlead/internal/core/egress"
)

// access has the fields of a request's log line. It has no path and no header: these may hold secrets. No field is
// longer than a legal value can be.
type access struct{ namespace, method, host, port, decision string }

// asked is known before anything is decided.
func asked(r *http.Request) access {
	method := r.Method
	if len(method) > maxMethod {
		method = "?"
	}
	return access{namespace: namespaceOf(r), method: method, host: shownHost(r)}
}

const (
	maxMethod = 32
	maxHost   = 255 // bytes of a name (RFC 1035, section 2.3.4)
)

// namespaceOf returns the user that the client says, as the policy writes it into the variables, if it can be a namespace. It is no
// authorisation.
func namespaceOf(r *http.Request) string {
	request := http.Request{Header: http.Header{"Authorization": r.Header.Values("Proxy-Authorization")}}
	if name, _, _ := request.BasicAuth(); namespace.MatchString(name) {
		return name
	}
	return ""
}

// namespace is a label of RFC 1123.
var namespace = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

// shownHost returns what a client asks for, unless it may have a password in it.
func shownHost(r *http.Request) string {
	switch {
	case strings.Contains(r.Host, "@"):
		return "***"
	case len(r.Host) > maxHost:
		return r.Host[:maxHost] + "..."
	}
	return r.Host
}

func (a access) decided(decision egress.Decision) access {
	host, port, err := net.SplitHostPort(decision.Dial)
	if err != nil {
		host, port = decision.Dial, "80"
	}
	return access{a.namespace, a.method, host, port, wayOf(decision)}
}

// log writes the line of a request or tunnel that has ended.
func (p *Proxy) log(a access, status int, sent, received int64) {
	p.Access.Info("access", "namespace", a.namespace, "method", a.method, "host", a.host, "port", a.port,
		"decision", a.decision, "status", status, "sent", sent, "received", received)
}

// maxReason is for a text that has what a client or a resolver said in it.
const maxReason = 512

// tell writes the line of a request that goes nowhere, unless there are many of one client.
func (p *Proxy) tell(a access, client string, status int, err error) {
	at, _ := netip.ParseAddrPort(client)
	tell, more := p.lines.admit(at.Addr(), time.Now())
	if more > 0 {
		p.Log.Info("no way", "more", more)
	}
	if !tell {
		return
	}
	reason := err.Error()
	if len(reason) > maxReason {
		reason = reason[:maxReason] + "..."
	}
	p.Log.Info("no way", "client", client, "method", a.method, "namespace", a.namespace, "host", a.host, "status", status, "reason", reason)
}

// tellPanic says where a request has panicked: net/http ends its connection, and would write the stack where strangers' text goes.
func (p *Proxy) tellPanic(a access) {
	reason := recover()
	if reason == nil {
		return
	}
	if err, ok := reason.(error); !ok || !errors.Is(err, http.ErrAbortHandler) {
		p.Log.Error("panic", "method", a.method, "host", a.host, "stack", string(debug.Stack()))
	}
	panic(reason)
}

// lines bounds the log: who is refused can ask again without end.
type lines struct {
	mutex sync.Mutex
	since time.Time
	by    map[netip.Addr]int
	all   int
	more  int // that were left out
}

const (
	linesInterval  = 10 * time.Second
	linesPerClient = 5
	linesOfAll     = 100
)

// admit reports whether a line of a client may be written, and how many were left out in an interval that is over.
func (l *lines) admit(client netip.Addr, now time.Time) (tell bool, more int) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if now.Sub(l.since) >= linesInterval {
		more = l.more
		l.since, l.by, l.all, l.more = now, map[netip.Addr]int{}, 0, 0
	}
	if l.all >= linesOfAll || l.by[client] >= linesPerClient {
		l.more++
		return false, more
	}
	l.all++
	l.by[client]++
	return true, more
}

// counted logs a response when its body has been read, and tells of one that has broken off: its client sees no more than an end.
func (p *Proxy) counted(response *http.Response, is carried) {
	request := response.Request
	response.Body = &countedBody{ReadCloser: response.Body, done: func(bytes int64, failed error) {
		if failed != nil && request.Context().Err() == nil {
			p.tell(is.line, request.RemoteAddr, response.StatusCode, fmt.Errorf("the answer has broken off after %d bytes: %w", bytes, withoutText(failed)))
		}
		p.log(is.line, response.StatusCode, is.body.bytes(), bytes)
	}}
}

type countedBody struct {
	io.ReadCloser
	bytes  int64
	failed error
	done   func(bytes int64, failed error)
}

func (b *countedBody) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	b.bytes += int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		b.failed = err
	}
	return n, err
}

func (b *countedBody) Close() error {
	if b.done != nil {
		b.done(b.bytes, b.failed)
		b.done = nil
	}
	return b.ReadCloser.Close()
}
