package forward

import (
	"io"
	"net"
	"net/http"
	"strings"

	"github.com/fairlead-io/fairlead/internal/core/egress"
)

// access is one line of the access log. It has no path and no header: these may hold secrets.
type access struct{ namespace, method, host, port, decision string }

func accessOf(r *http.Request, decision egress.Decision) access {
	host, port, err := net.SplitHostPort(decision.Dial)
	if err != nil {
		host, port = decision.Dial, "80"
	}
	return access{namespaceOf(r), r.Method, host, port, wayOf(decision)}
}

// log writes the line of a request or tunnel that has ended.
func (p *Proxy) log(a access, status int, sent, received int64) {
	p.Access.Info("access", "namespace", a.namespace, "method", a.method, "host", a.host, "port", a.port,
		"decision", a.decision, "status", status, "sent", sent, "received", received)
}

// counted logs a response when its body has been read.
func (p *Proxy) counted(response *http.Response, a access) {
	if p.Access == nil || response.StatusCode == http.StatusSwitchingProtocols {
		return // whose body is written to, too
	}
	response.Body = &countedBody{ReadCloser: response.Body, done: func(bytes int64) {
		p.log(a, response.StatusCode, max(response.Request.ContentLength, 0), bytes)
	}}
}

type countedBody struct {
	io.ReadCloser
	bytes int64
	done  func(bytes int64)
}

func (b *countedBody) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	b.bytes += int64(n)
	return n, err
}

func (b *countedBody) Close() error {
	if b.done != nil {
		b.done(b.bytes)
		b.done = nil
	}
	return b.ReadCloser.Close()
}

// shownHost is what a client asks for, unless it may have a password in it.
func shownHost(r *http.Request) string {
	if strings.Contains(r.Host, "@") {
		return "***"
	}
	return r.Host
}
