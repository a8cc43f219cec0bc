// Package pipe carries the bytes of tunnels.
package pipe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// Linger is for the other side, once one has said its last word. RFC 9110 (9.3.6) would end the tunnel at once; but it
// may have more to say. Not for ever: a side that is gone altogether looks the same.
const Linger = 5 * time.Minute

// afterBreak is for what is on its way when one side breaks off.
const afterBreak = 5 * time.Second

// End is one side of a tunnel.
type End struct {
	Name string // in the reason of the end
	Conn interface {
		net.Conn
		CloseWrite() error
	}
	Early []byte // what it has said already
}

// Traffic is what a tunnel has carried, and how it came to its end.
type Traffic struct {
	FromFirst, FromSecond int64 // bytes
	Reason                string
}

// tunnel is one that is open.
type tunnel struct {
	sides  [2]End
	linger time.Duration

	mutex sync.Mutex
	bytes [2]int64
	ended int // directions
	first error
	name  string // of the side that has ended first
	timer *time.Timer
}

// Both carries all bytes both ways until both sides have ended, or one has and the other lingers too long, or the
// context has ended. It closes both.
func Both(ctx context.Context, first, second End, linger time.Duration) Traffic {
	t := &tunnel{sides: [2]End{first, second}, linger: linger}
	defer t.close()
	if ctx.Done() != nil {
		defer context.AfterFunc(ctx, t.close)()
	}
	done := make(chan struct{})
	go func() { // two goroutines for a tunnel: there are thousands of tunnels, and most of them are idle
		defer close(done)
		t.carry(1, 0)
	}()
	t.carry(0, 1)
	<-done
	t.timer.Stop()
	return Traffic{FromFirst: t.bytes[0], FromSecond: t.bytes[1], Reason: reason(ctx, t.name, t.first)}
}

func (t *tunnel) close() {
	for _, side := range t.sides {
		_ = side.Conn.Close()
	}
}

// carry takes what a side says to the other one, and says there that it has ended.
func (t *tunnel) carry(from, to int) {
	bytes, err := carry(t.sides[to], t.sides[from])
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.bytes[from] = bytes
	if t.ended++; t.ended == len(t.sides) {
		return
	}
	t.first, t.name = err, t.sides[from].Name
	if err != nil {
		t.linger = afterBreak
	}
	t.timer = time.AfterFunc(t.linger, t.close)
}

func carry(to, from End) (bytes int64, err error) {
	if len(from.Early) > 0 {
		var written int
		written, err = to.Conn.Write(from.Early)
		bytes = int64(written)
	}
	if err == nil {
		var copied int64
		copied, err = move(to.Conn, from.Conn)
		bytes += copied
	}
	_ = to.Conn.CloseWrite()
	return bytes, err
}

func reason(ctx context.Context, name string, err error) string {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx).Error()
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Sprintf("the %s has broken off", name)
	case err != nil:
		return err.Error()
	}
	return fmt.Sprintf("the %s has ended it", name)
}
