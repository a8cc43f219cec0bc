package forward

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"time"

	"github.com/fairlead-io/fairlead/internal/workload/headers"
	"github.com/fairlead-io/fairlead/internal/workload/pipe"
	"github.com/fairlead-io/fairlead/internal/workload/upstream"
)

// upgradesTo is the one protocol that a request may upgrade to. The next hop is the company's proxy: in another protocol, a client
// would speak to it past every check.
const upgradesTo = "websocket"

// asksForUpgrade reports whether a request may be upgraded. With a body it may not: its end is the beginning of the other protocol.
func asksForUpgrade(r *http.Request) bool {
	return strings.EqualFold(r.Header.Get("Upgrade"), upgradesTo) && r.ContentLength == 0
}

var (
	errSwitched = errors.New("the protocol was switched, and all of it has been carried")
	errSwitch   = errors.New("the answer switches to a protocol that was not asked for")
)

// upgrade sends a request. If the destination agrees to another protocol, it carries that to its end, and returns errSwitched.
func (p *Proxy) upgrade(r *http.Request, is carried) (*http.Response, error) {
	var conn net.Conn
	if is.upgrades != nil || is.body != nil {
		var sending atomic.Pointer[body] // until there is an answer
		sending.Store(is.body)
		defer sending.Store(nil)
		r = r.WithContext(httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{GotConn: func(got httptrace.GotConnInfo) {
			conn = got.Conn
			if counted, ok := conn.(*headers.Conn); ok { // or else nobody answers before its client has sent more
				counted.OnEnd(func() { sending.Load().stop() })
			}
		}}))
	}
	response, err := p.send(r, is)
	if err != nil || response.StatusCode != http.StatusSwitchingProtocols {
		return response, err
	}
	far, both := response.Body.(io.ReadWriteCloser)
	half, tcp := conn.(upstream.Conn)
	asked := is.upgrades != nil && r.Header.Get("Upgrade") != "" // a ReverseProxy removes what Connection does not name
	if !asked || !both || !tcp || !strings.EqualFold(response.Header.Get("Upgrade"), upgradesTo) {
		_ = response.Body.Close()
		return nil, errSwitch
	}
	near, early, err := hijack(is.upgrades)
	if err != nil {
		_ = far.Close()
		return nil, err
	}
	response.Body = nil // Write writes the header alone
	if err := response.Write(near); err != nil {
		_, _ = near.Close(), far.Close()
		return nil, errSwitched
	}
	p.Observe(wayOf(is.decision), "ok")
	p.carry(is, http.StatusSwitchingProtocols, near, early, pipe.End{Conn: switched{half, far}})
	return nil, errSwitched
}

// hijack takes a connection from the server, with what its client has sent behind the request.
func hijack(w http.ResponseWriter) (near net.Conn, early []byte, err error) {
	near, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return nil, nil, err
	}
	early = make([]byte, buffered.Reader.Buffered())
	_, _ = buffered.Read(early)
	_ = near.SetDeadline(time.Time{})
	return near, early, nil
}

// switched is a connection of a transport. What came behind the answer's header is in the answer's body.
type switched struct {
	upstream.Conn
	body io.ReadWriteCloser
}

func (s switched) Read(into []byte) (int, error) { return s.body.Read(into) }
func (s switched) Close() error                  { return s.body.Close() }
