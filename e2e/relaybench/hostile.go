package main

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"sync"
	"time"
)

// attacks are the requests of hostile clients, sent again and again. A few bytes follow each second until the relay
// ends them.
var attacks = []struct{ name, request, more string }{
	{"a slow header", "GET http://" + destination + "/1 HTTP/1.1\r\n", "X-A: b\r\n"},
	{"many fields", "GET http://" + destination + "/1 HTTP/1.1\r\n" + strings.Repeat("a:\r\n", 5000), "a:\r\n"},
	{"a long field", "GET http://" + destination + "/1 HTTP/1.1\r\nX-A: " + strings.Repeat("a", 1<<20), "aaaaaaaa"},
	{"a body that does not end", "POST http://" + destination + "/1 HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000000\r\n\r\n" + strings.Repeat("a", 1<<20), "aaaaaaaa"},
	{"chunks that do not end", "POST http://" + destination + "/1 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", "8\r\naaaaaaaa\r\n"},
	{"nothing", "", ""},
	{"an idle tunnel", "CONNECT " + destination + " HTTP/1.1\r\nHost: a\r\n\r\n", ""},
	{"an answer that nobody reads", "CONNECT " + destination + " HTTP/1.1\r\nHost: a\r\n\r\nGET /1000000000 HTTP/1.1\r\nHost: a\r\n\r\n", ""},
	{"a destination that is silent", "GET http://" + destination + silentPath + " HTTP/1.1\r\nHost: a\r\n\r\n", ""},
	{"a destination that is nowhere", "CONNECT " + nowhere + " HTTP/1.1\r\nHost: a\r\n\r\n", ""},
	{"an answer with a large header", "GET http://" + destination + largePath + " HTTP/1.1\r\nHost: a\r\n\r\n", ""},
	{"a destination that says 407", "GET http://" + destination + deceitPath + " HTTP/1.1\r\nHost: a\r\n\r\n", ""},
	{"noise", strings.Repeat("\x16\x03\x01\x02\x00\x01\x00", 1000), "\x00"},
	{"an end to the request", "CONNECT " + destination + " HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nabcde", "a"},
}

// nowhere is in the internet's network, and nobody has it.
const nowhere = "203.0.113.99:8080"

// hostile keeps so many connections, of all kinds, until the time is over. One that is closed is opened again.
func (l load) hostile(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(l.Seconds)*time.Second)
	defer cancel()
	var all sync.WaitGroup
	for i := range l.Clients {
		all.Go(func() {
			for ctx.Err() == nil {
				_ = l.attack(ctx, attacks[i%len(attacks)], time.Minute)
				_ = await(ctx, time.Second+rand.N(time.Second))
			}
		})
	}
	all.Wait()
	return nil
}

// attack keeps one connection until the relay or the time ends it. It reports whether there was one.
func (l load) attack(ctx context.Context, attack struct{ name, request, more string }, lifetime time.Duration) bool {
	conn, _, err := l.dial()
	if err != nil {
		return false
	}
	defer conn.Close() //nolint:errcheck // of a hostile client
	end := time.Now().Add(lifetime)
	_ = conn.SetDeadline(end)
	_, err = io.WriteString(conn, attack.request)
	if half, is := conn.(*net.TCPConn); is && attack.more == "" && rand.N(2) == 0 {
		_ = half.CloseWrite()
	}
	for err == nil && time.Now().Before(end) && ctx.Err() == nil {
		if err = wait(ctx, conn, min(time.Second, time.Until(end))); err == nil && attack.more != "" {
			_, err = io.WriteString(conn, attack.more)
		}
	}
	return true
}

// wait reads a byte at most. It returns an error when the connection has ended.
func wait(ctx context.Context, conn net.Conn, long time.Duration) error {
	until := time.Now().Add(long)
	_ = conn.SetReadDeadline(until)
	_, err := conn.Read(make([]byte, 1))
	if err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		_ = await(ctx, time.Until(until))
		return nil
	}
	return err
}
