package relay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// linger is for the other side, once one has said its last word. RFC 9110 (9.3.6) would end the tunnel at once; but it
// may have more to say. Not for ever: a side that is gone altogether looks the same.
const linger = 5 * time.Minute

// afterBreak is for what is on its way when one side breaks off.
const afterBreak = 5 * time.Second

// ended is one direction of a tunnel.
type ended struct {
	name  string
	bytes int64
	err   error
}

// traffic is what a tunnel has carried, and how it came to its end.
type traffic struct {
	sent, received int64
	reason         string
}

// pipe carries all bytes both ways until both sides have ended, or one has and the other lingers too long, or the
// context has ended. It closes both.
func pipe(ctx context.Context, agent halfCloser, hub tunnel, linger time.Duration) traffic {
	closeBoth := func() {
		_ = agent.Close()
		_ = hub.Close()
	}
	defer closeBoth()
	defer context.AfterFunc(ctx, closeBoth)()
	ends := make(chan ended, 2)
	go func() { ends <- carry("agent", hub, agent, nil) }()
	go func() { ends <- carry("proxy", agent, hub, hub.early) }()

	first := <-ends
	if first.err != nil {
		linger = afterBreak
	}
	timer := time.AfterFunc(linger, closeBoth)
	defer timer.Stop()
	second := <-ends

	t := traffic{reason: reason(ctx, first)}
	for _, end := range []ended{first, second} {
		if end.name == "agent" {
			t.sent = end.bytes
		} else {
			t.received = end.bytes
		}
	}
	return t
}

// carry takes what a side says to the other one, and says there that it has ended.
func carry(name string, to, from halfCloser, early []byte) ended {
	end := ended{name: name}
	written, err := to.Write(early)
	end.bytes = int64(written)
	if err == nil {
		var copied int64
		copied, err = io.Copy(to, from)
		end.bytes += copied
	}
	end.err = err
	_ = to.CloseWrite()
	return end
}

func reason(ctx context.Context, first ended) string {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx).Error()
	case errors.Is(first.err, io.ErrUnexpectedEOF):
		return fmt.Sprintf("the %s has broken off", first.name)
	case first.err != nil:
		return first.err.Error()
	}
	return fmt.Sprintf("the %s has ended it", first.name)
}
