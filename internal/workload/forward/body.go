package forward

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync/atomic"

	"github.com/fairlead-io/fairlead/internal/core/egress"
)

// body is what a client sends. It knows whether that is framed as HTTP says.
type body struct {
	io.ReadCloser
	sent      atomic.Int64 // bytes
	malformed atomic.Bool
}

func (b *body) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	b.sent.Add(int64(n))
	if err != nil && errors.Is(withoutText(err), errFraming) {
		b.malformed.Store(true)
	}
	return n, err
}

// bytes are those that were read; of no body, 0.
func (b *body) bytes() int64 {
	if b == nil {
		return 0
	}
	return b.sent.Load()
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
