package relay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// Once one side has said its last word, RFC 9110 (9.3.6) would end the tunnel. The other may finish what it is saying:
// it is not forever that it may be silent, for who is gone altogether looks the same.
const (
	afterEnd   = 5 * time.Minute
	afterBreak = 5 * time.Second // what is on its way still arrives
)

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

// pipe carries all bytes both ways until both sides have ended, or the context has. It closes both.
func pipe(ctx context.Context, agent halfCloser, hub tunnel) traffic {
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
	rest := afterEnd
	if first.err != nil {
		rest = afterBreak
	}
	timer := time.AfterFunc(rest, closeBoth)
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
