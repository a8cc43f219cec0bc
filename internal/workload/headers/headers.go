// Package headers bounds the headers of HTTP/1 while they are read. net/http bounds their bytes alone, and a header of many
// tiny fields takes thirty times its bytes.
package headers

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"time"
)

// The limits, which are Envoy's for the number of fields (max_headers_count) and stricter than squid's for the bytes
// (request_header_max_size, reply_header_max_size: 64 KB).
const (
	MaxBytes  = 16 << 10
	MaxFields = 100
)

// TooMany reports whether a header that has been read has more than MaxFields: it may have been in a buffer before its connection
// counted.
func TooMany(header http.Header) bool {
	fields := 0
	for _, values := range header {
		fields += len(values)
	}
	return fields > MaxFields
}

// ErrTooMany is the error of a read once a header has more than MaxFields.
var ErrTooMany = errors.New("a header has more than 100 fields")

// Conn counts the fields of each header that is to come.
type Conn struct {
	net.Conn

	lingers atomic.Bool

	mutex    sync.Mutex
	ended    bool   // it is closed
	onEnd    func() // or nil
	awaiting bool   // the header that is to come has not ended
	lines    int    // that have ended, without empty ones before the first
	begin    []byte // of the first line
	empty    bool   // the line that goes on has nothing in it yet
}

// Expect says that the next bytes are a header's.
func (c *Conn) Expect() { c.set(true) }

// Ended says that the header has been read: what follows is not one.
func (c *Conn) Ended() { c.set(false) }

func (c *Conn) set(awaiting bool) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.awaiting = awaiting
	c.restart()
}

func (c *Conn) restart() { c.lines, c.begin, c.empty = 0, c.begin[:0], true }

// Read reads, and fails once a header has too many fields.
func (c *Conn) Read(into []byte) (int, error) {
	n, err := c.Conn.Read(into)
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.awaiting && !c.count(into[:n]) {
		return 0, ErrTooMany
	}
	return n, err
}

func (c *Conn) end() {
	c.mutex.Lock()
	c.ended = true
	do := c.onEnd
	c.mutex.Unlock()
	if do != nil {
		do()
	}
}

// OnEnd has a function called when the connection is closed, at once if it is. Net/http closes it when it has heard all, or what it
// does not understand.
func (c *Conn) OnEnd(do func()) {
	c.mutex.Lock()
	c.onEnd = do
	ended := c.ended
	c.mutex.Unlock()
	if ended {
		do()
	}
}

// pieces are shared for copying bodies. Else net/http takes 32 KiB for each that is under way.
var pieces = sync.Pool{New: func() any { return new([8 << 10]byte) }}

// ReadFrom writes what a reader has.
func (c *Conn) ReadFrom(from io.Reader) (int64, error) {
	piece := pieces.Get().(*[8 << 10]byte)
	defer pieces.Put(piece)
	return io.CopyBuffer(struct{ io.Writer }{c.Conn}, from, piece[:])
}

// CloseWrite ends one side, where the connection has two.
func (c *Conn) CloseWrite() error {
	half, ok := c.Conn.(interface{ CloseWrite() error })
	if !ok {
		return errors.ErrUnsupported
	}
	return half.CloseWrite()
}

// firstBytes are the bytes of a first line that isLast needs.
const firstBytes = len("HTTP/1.x 101")

// isLast reports whether the header is of a request, or of an answer that no other one follows (RFC 9110, section 15.2). An answer
// in another spelling is none: net/http may read it as one that another one follows.
func (c *Conn) isLast() bool {
	version, ok := bytes.CutPrefix(c.begin, []byte("HTTP/"))
	if !ok {
		return true
	}
	status, ok := bytes.CutPrefix(version, []byte("1."))
	return ok && len(status) > 2 && status[1] == ' ' && (status[2] >= '2' && status[2] <= '9' || string(status[2:]) == "101")
}

// count reports whether there are not too many fields yet.
func (c *Conn) count(text []byte) bool {
	for len(text) > 0 {
		line, rest, ended := bytes.Cut(text, []byte("\n"))
		text = rest
		c.empty = c.empty && len(bytes.TrimSuffix(line, []byte("\r"))) == 0
		if c.lines == 0 && !c.empty {
			c.begin = append(c.begin, line[:min(len(line), firstBytes-len(c.begin))]...)
		}
		if !ended {
			break
		}
		switch {
		case !c.empty:
			c.lines++
		case c.lines > 0 && !c.isLast():
			c.restart()
		case c.lines > 0:
			c.awaiting = false
			return true
		}
		if c.lines > 1+MaxFields {
			return false
		}
		c.empty = true
	}
	return true
}

// Under returns the connection below one that counts fields.
func Under(conn net.Conn) net.Conn {
	if counted, ok := conn.(*Conn); ok {
		return counted.Conn
	}
	return conn
}

// Listener accepts connections that count the fields of their first header. A server's ConnState is to go by [Follow].
type Listener struct{ net.Listener }

// Accept waits for the next connection.
func (l Listener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	counted := &Conn{Conn: conn}
	counted.Expect()
	return counted, nil
}

// Follow is for a server that tells the state of its connections: between two requests, it awaits a header.
func Follow(conn net.Conn, state http.ConnState) {
	counted, ok := conn.(*Conn)
	switch {
	case !ok:
	case state == http.StateIdle:
		counted.Expect()
	case state == http.StateActive, state == http.StateHijacked:
		counted.Ended()
	}
}

// Transport counts the fields of answers.
type Transport struct{ *http.Transport }

// NewTransport changes how a transport connects, and the bytes of its answers' headers.
func NewTransport(base *http.Transport) Transport {
	dial := base.DialContext
	base.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &Conn{Conn: conn}, nil
	}
	base.MaxResponseHeaderBytes = MaxBytes
	return Transport{base}
}

// RoundTrip sends a request.
func (t Transport) RoundTrip(request *http.Request) (*http.Response, error) {
	ctx := httptrace.WithClientTrace(request.Context(), &httptrace.ClientTrace{GotConn: func(got httptrace.GotConnInfo) {
		if counted, ok := got.Conn.(*Conn); ok {
			counted.Expect()
		}
	}})
	return t.Transport.RoundTrip(request.WithContext(ctx))
}

// lingerTime is how long the other side may go on after the last word.
const lingerTime = 5 * time.Second

// Linger has Close end this side alone at first, and read what the other one still sends, until it ends or time is up. A connection
// that is closed with something unread is reset, and the answer may be lost (RFC 9112, section 9.6).
func (c *Conn) Linger() { c.lingers.Store(true) }

// Close closes the connection.
func (c *Conn) Close() error {
	c.end()
	if c.lingers.Swap(false) && c.CloseWrite() == nil {
		_ = c.SetReadDeadline(time.Now().Add(lingerTime))
		_, _ = io.Copy(io.Discard, c.Conn)
	}
	return c.Conn.Close()
}
