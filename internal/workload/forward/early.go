package forward

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync/atomic"

	"github.com/fairlead-io/fairlead/internal/core/egress"
	"github.com/fairlead-io/fairlead/internal/workload/upstream"
)

// upgrading is the writer of a request that asks for another protocol. What its client has sent right behind the request is of
// that protocol, and comes first: httputil.ReverseProxy leaves it in the server's buffer.
type upgrading struct{ http.ResponseWriter }

// Unwrap is for http.ResponseController.
func (u upgrading) Unwrap() http.ResponseWriter { return u.ResponseWriter }

// Hijack implements http.Hijacker.
func (u upgrading) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffered, err := http.NewResponseController(u.ResponseWriter).Hijack()
	if err != nil || buffered.Reader.Buffered() == 0 {
		return conn, buffered, err
	}
	early, err := buffered.Peek(buffered.Reader.Buffered())
	return afterEarly{conn.(upstream.Conn), io.MultiReader(bytes.NewReader(early), conn)}, buffered, err
}

// afterEarly reads what came early, and then the connection.
type afterEarly struct {
	upstream.Conn
	all io.Reader
}

func (a afterEarly) Read(into []byte) (int, error) { return a.all.Read(into) }

// body is what a client sends. It knows whether that is framed as HTTP says.
type body struct {
	io.ReadCloser
	malformed atomic.Bool
}

func (b *body) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	if err != nil && errors.Is(withoutText(err), errFraming) {
		b.malformed.Store(true)
	}
	return n, err
}

// refusal is that of a malformed body, which is no failure of the company's proxy.
func (b *body) refusal() error {
	if b == nil || !b.malformed.Load() {
		return nil
	}
	return &egress.Refusal{Reason: egress.BadRequest, Text: errFraming.Error()}
}

var errFraming = errors.New("the body is not framed as HTTP/1.1 says (RFC 9112, section 7.1)")

// withoutText is the error of reading a body, without what stands there.
func withoutText(err error) error {
	var network net.Error
	if errors.As(err, &network) {
		return err
	}
	for _, known := range []error{io.EOF, io.ErrUnexpectedEOF, http.ErrBodyReadAfterClose, context.Canceled} {
		if errors.Is(err, known) {
			return err
		}
	}
	return errFraming
}
