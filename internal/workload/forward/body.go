package forward

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fairlead-io/fairlead/internal/core/egress"
	"github.com/fairlead-io/fairlead/internal/workload/headers"
)

// body is a request body that a client sends. The answer may come before its end. Nil stands for no body.
type body struct {
	io.ReadCloser
	interrupt func(time.Time) error // sets the deadline of the reads
	sent      atomic.Int64          // bytes
	reading   sync.Mutex            // held by a read
	whole     chan struct{}         // closed when all has been read
	length    int64                 // bytes; -1: not known
	moment    time.Duration         // that an answer waits for the rest

	mutex     sync.Mutex
	ended     bool // all has been read
	stopped   bool // by stop
	malformed bool // not framed as HTTP says
	broken    bool // its client has broken it off
}

// bodyOf replaces the body of a request, if it has one, by one that can be stopped.
func bodyOf(w http.ResponseWriter, r *http.Request) *body {
	if r.ContentLength == 0 {
		return nil
	}
	controller := http.NewResponseController(w)
	// Else net/http ends the body with the first byte of the answer, and so the connection that the answer comes on.
	_ = controller.EnableFullDuplex()
	is := &body{ReadCloser: r.Body, interrupt: controller.SetReadDeadline, whole: make(chan struct{}), length: r.ContentLength, moment: moment}
	r.Body = is
	return is
}

func (b *body) Read(into []byte) (int, error) {
	b.reading.Lock()
	defer b.reading.Unlock()
	b.mutex.Lock()
	stopped := b.stopped
	b.mutex.Unlock()
	if stopped {
		return 0, errStopped
	}
	n, err := b.ReadCloser.Read(into)
	b.sent.Add(int64(n))
	if err == nil {
		return n, nil
	}
	b.mutex.Lock()
	defer b.mutex.Unlock()
	switch {
	case errors.Is(err, io.EOF):
		if !b.ended {
			close(b.whole)
		}
		b.ended = true
	case b.stopped:
		return n, errStopped
	case errors.Is(err, http.ErrBodyReadAfterClose), errors.Is(err, context.Canceled):
	case errors.Is(withoutText(err), errFraming):
		b.malformed = true
	default:
		b.broken = true
	}
	return n, err
}

// stop ends a read that waits for the client, now and later.
func (b *body) stop() {
	if b == nil {
		return
	}
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if !b.ended {
		b.stopped = true
		_ = b.interrupt(time.Unix(1, 0))
	}
}

// unread reports whether there is more.
func (b *body) unread() bool {
	if b == nil {
		return false
	}
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return !b.ended
}

// moment is how long an answer waits for the end of a body that is nearly there: then the connection need not end. Net/http's own
// client waits as long before it gives up a connection whose answer came early.
const moment = 50 * time.Millisecond

// little is a rest that may be there in a moment, in bytes. Net/http reads as much to keep a connection.
const little = 256 << 10

func (b *body) nearlyThere() bool {
	if !b.unread() || b.length-b.sent.Load() > little {
		return false
	}
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return !b.stopped
}

// settle waits a moment for a little rest, which somebody reads.
func (b *body) settle() {
	if !b.nearlyThere() {
		return
	}
	timer := time.NewTimer(b.moment)
	defer timer.Stop()
	select {
	case <-b.whole:
	case <-timer.C:
	}
}

// drain reads what comes in a moment, where nobody else reads any more.
func (b *body) drain() {
	if !b.nearlyThere() || !b.reading.TryLock() {
		return
	}
	b.reading.Unlock()
	_ = b.interrupt(time.Now().Add(b.moment))
	_, _ = io.CopyN(io.Discard, b, little)
	if b.unread() {
		b.stop()
		return
	}
	_ = b.interrupt(time.Time{})
}

// end is for when its request has been answered. Net/http would wait for a part of what is left; the client, which sends it, is to
// read the answer before its connection is reset.
func (b *body) end(client net.Conn) {
	if !b.unread() {
		return
	}
	b.stop()
	b.reading.Lock() // net/http lifts the deadline of a read that it meets
	defer b.reading.Unlock()
	if counted, ok := client.(*headers.Conn); ok {
		counted.Linger()
	}
}

// bytes returns the bytes that were read.
func (b *body) bytes() int64 {
	if b == nil {
		return 0
	}
	return b.sent.Load()
}

// refusal returns the error of a body that the company's proxy is not to blame for: a malformed one, or errBrokenOff.
func (b *body) refusal() error {
	if b == nil {
		return nil
	}
	b.mutex.Lock()
	defer b.mutex.Unlock()
	switch {
	case b.malformed:
		return &egress.Refusal{Reason: egress.BadRequest, Text: errFraming.Error()}
	case b.broken:
		return errBrokenOff
	}
	return nil
}

var (
	errFraming   = errors.New("the body is not framed as HTTP/1.1 says (RFC 9112, section 7.1)")
	errBrokenOff = errors.New("the client has broken off the body")
	errStopped   = errors.New("the connection has ended without an answer, while the body was sent")
)

// withoutText returns the error of reading a body, without what stands there.
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
