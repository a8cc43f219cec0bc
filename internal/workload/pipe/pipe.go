// Package pipe carries the bytes of tunnels.
package pipe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Linger is how long the other side may be silent, once one has said its last word. RFC 9110 (9.3.6) would end the tunnel at
// once; but it may have more to say. Not for ever: a side that is gone altogether looks the same.
const Linger = 5 * time.Minute

// afterBreak is the time for bytes that are on their way when one side breaks off.
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

// Traffic has the bytes that a tunnel has carried, and the reason of its end.
type Traffic struct {
	FromFirst, FromSecond int64 // bytes
	Reason                string
}

// tunnel is one that is open.
type tunnel struct {
	sides  [2]End
	linger time.Duration

	bytes [2]atomic.Int64 // from each side, while it goes on

	mutex sync.Mutex
	ended int // directions
	first error
	name  string // of the side that has ended first
	timer *time.Timer
}

// Both carries all bytes both ways until both sides have ended, or one has and the other is silent for too long, or the
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
	return Traffic{FromFirst: t.bytes[0].Load(), FromSecond: t.bytes[1].Load(), Reason: reason(ctx, t.name, t.first)}
}

func (t *tunnel) close() {
	for _, side := range t.sides {
		_ = side.Conn.Close()
	}
}

// carry takes what a side says to the other one, and says there that it has ended.
func (t *tunnel) carry(from, to int) {
	err := carry(t.sides[to], t.sides[from], &t.bytes[from])
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if t.ended++; t.ended == len(t.sides) {
		return
	}
	t.first, t.name = err, t.sides[from].Name
	if err != nil {
		t.timer = time.AfterFunc(afterBreak, t.close)
		return
	}
	seen := t.bytes[to].Load()
	t.timer = time.AfterFunc(t.linger, func() {
		t.mutex.Lock()
		defer t.mutex.Unlock()
		if now := t.bytes[to].Load(); now != seen && t.ended < len(t.sides) {
			seen = now
			t.timer.Reset(t.linger)
			return
		}
		t.close()
	})
}

// carry counts what it has carried while it does.
func carry(to, from End, bytes *atomic.Int64) error {
	counted := counted{to.Conn, bytes}
	if len(from.Early) > 0 {
		if _, err := counted.Write(from.Early); err != nil {
			_ = to.Conn.CloseWrite()
			return err
		}
	}
	err := move(counted, from.Conn)
	_ = to.Conn.CloseWrite()
	return err
}

// counted is a connection that counts the bytes written.
type counted struct {
	net.Conn
	bytes *atomic.Int64
}

func (c counted) Write(text []byte) (int, error) {
	n, err := c.Conn.Write(text)
	c.bytes.Add(int64(n))
	return n, err
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
