// Package pipe carries the bytes of tunnels.
package pipe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
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

// ended is one direction of a tunnel.
type ended struct {
	from  int
	bytes int64
	err   error
}

// Both carries all bytes both ways until both sides have ended, or one has and the other lingers too long, or the
// context has ended. It closes both.
func Both(ctx context.Context, first, second End, linger time.Duration) Traffic {
	sides := [2]End{first, second}
	closeBoth := func() {
		_ = first.Conn.Close()
		_ = second.Conn.Close()
	}
	defer closeBoth()
	defer context.AfterFunc(ctx, closeBoth)()
	ends := make(chan ended, 2)
	for from := range sides {
		go func() { ends <- carry(sides[1-from], sides[from], from) }()
	}
	earlier := <-ends
	if earlier.err != nil {
		linger = afterBreak
	}
	timer := time.AfterFunc(linger, closeBoth)
	defer timer.Stop()
	later := <-ends

	var bytes [2]int64
	bytes[earlier.from], bytes[later.from] = earlier.bytes, later.bytes
	return Traffic{FromFirst: bytes[0], FromSecond: bytes[1], Reason: reason(ctx, sides[earlier.from].Name, earlier.err)}
}

// carry takes what a side says to the other one, and says there that it has ended.
func carry(to, from End, index int) ended {
	end := ended{from: index}
	var err error
	if len(from.Early) > 0 {
		var written int
		written, err = to.Conn.Write(from.Early)
		end.bytes = int64(written)
	}
	if err == nil {
		var copied int64
		copied, err = move(to.Conn, from.Conn)
		end.bytes += copied
	}
	end.err = err
	_ = to.Conn.CloseWrite()
	return end
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
