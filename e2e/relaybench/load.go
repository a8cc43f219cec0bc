package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// load describes the requests of the clients.
type load struct {
	What    string // GET, CONNECT, bytes, idle, soak or hostile
	Clients int
	Seconds int
	Proxy   string
	Sources []string // addresses; none: whatever there is
	Hostile []string // those of the hostile clients of a soak: one address has its own limits
}

// found has the measurements of the clients.
type found struct {
	Rate     float64 // requests per second
	P50, P99 time.Duration
	MiB      float64 // per second
}

const small = 1 << 10 // bytes of an answer

// What the destination does not answer, with much and no end, and as only a proxy should.
const silentPath, largePath, deceitPath = "/silent", "/large", "/407"

// serve is the destination: /n has n bytes.
func serve(address string) error {
	zeros := make([]byte, 1<<20)
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case silentPath:
			<-r.Context().Done()
			return
		case largePath:
			for i := range 80 {
				w.Header().Set(fmt.Sprintf("X-%d", i), strings.Repeat("a", 150))
			}
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
			return
		case deceitPath:
			w.WriteHeader(http.StatusProxyAuthRequired)
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		left, err := strconv.ParseInt(r.URL.Path[1:], 10, 64)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Length", strconv.FormatInt(left, 10))
		for left > 0 && err == nil {
			n := min(left, int64(len(zeros)))
			_, err = w.Write(zeros[:n])
			left -= n
		}
	})
	return (&http.Server{Addr: address, Handler: handler}).ListenAndServe()
}

func (l load) run(ctx context.Context) (found, error) {
	switch l.What {
	case "idle":
		return found{}, l.idle(ctx)
	case "soak":
		return found{}, soakClients(ctx, l)
	case "hostile":
		return found{}, l.hostile(ctx)
	}
	var mutex sync.Mutex
	var all []time.Duration
	var bytes int64
	var failed error
	var clients sync.WaitGroup
	began := time.Now()
	end := began.Add(time.Duration(l.Seconds) * time.Second)
	for range l.Clients {
		clients.Go(func() {
			took, count, err := l.client(end)
			mutex.Lock()
			defer mutex.Unlock()
			all, bytes, failed = append(all, took...), bytes+count, errors.Join(failed, err)
		})
	}
	clients.Wait()
	seconds := time.Since(began).Seconds()
	f := found{MiB: float64(bytes) / (1 << 20) / seconds}
	if len(all) > 0 {
		slices.Sort(all)
		f.Rate, f.P50, f.P99 = float64(len(all))/seconds, all[len(all)/2], all[len(all)*99/100]
	}
	return f, failed
}

// client works until the end.
func (l load) client(end time.Time) (took []time.Duration, bytes int64, err error) {
	switch l.What {
	case "bytes":
		return l.download(end)
	case "CONNECT":
		for time.Now().Before(end) {
			opened, err := l.tunnelled()
			if err != nil {
				return nil, 0, err
			}
			took = append(took, opened)
		}
		return took, 0, nil
	}
	conn, reader, err := l.dial()
	if err != nil {
		return nil, 0, err
	}
	defer conn.Close() //nolint:errcheck // of a benchmark
	for time.Now().Before(end) {
		began := time.Now()
		if err := ask(conn, reader, fmt.Sprintf("GET http://%[1]s/%[2]d HTTP/1.1\r\nHost: %[1]s\r\n%[3]s\r\n", destination, small, authorization), small); err != nil {
			return nil, 0, err
		}
		took = append(took, time.Since(began))
	}
	return took, 0, nil
}

var authorization = "Proxy-Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password)) + "\r\n"

func (l load) dial() (net.Conn, *bufio.Reader, error) {
	var dialer net.Dialer
	if len(l.Sources) > 0 {
		dialer.LocalAddr = &net.TCPAddr{IP: net.ParseIP(l.Sources[rand.N(len(l.Sources))])}
	}
	conn, err := dialer.Dial("tcp", l.Proxy)
	if err != nil {
		return nil, nil, err
	}
	return conn, bufio.NewReaderSize(conn, 4<<10), nil
}

// open opens a tunnel.
func (l load) open() (net.Conn, *bufio.Reader, error) {
	conn, reader, err := l.dial()
	if err != nil {
		return nil, nil, err
	}
	return conn, reader, openOn(conn, reader)
}

func openOn(conn net.Conn, reader *bufio.Reader) error {
	if _, err := fmt.Fprintf(conn, "CONNECT %[1]s HTTP/1.1\r\nHost: %[1]s\r\n%[2]s\r\n", destination, authorization); err != nil {
		return err
	}
	answer, err := http.ReadResponse(reader, &http.Request{Method: http.MethodConnect}) //nolint:bodyclose // a tunnel
	if err == nil && answer.StatusCode != http.StatusOK {
		err = errors.New(answer.Status)
	}
	return err
}

// tunnelled opens a tunnel, asks through it and closes it. It returns how long the tunnel took to open.
func (l load) tunnelled() (opened time.Duration, err error) {
	began := time.Now()
	conn, reader, err := l.open()
	if err != nil {
		return 0, err
	}
	defer conn.Close() //nolint:errcheck // of a benchmark
	opened = time.Since(began)
	return opened, askThrough(conn, reader, small)
}

// askThrough asks for so many bytes through a tunnel.
func askThrough(conn net.Conn, reader *bufio.Reader, size int64) error {
	return ask(conn, reader, fmt.Sprintf("GET /%d HTTP/1.1\r\nHost: %s\r\n\r\n", size, destination), size)
}

func ask(conn net.Conn, reader *bufio.Reader, request string, size int64) error {
	if _, err := io.WriteString(conn, request); err != nil {
		return err
	}
	answer, err := http.ReadResponse(reader, nil)
	if err != nil {
		return err
	}
	count, err := io.Copy(io.Discard, answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK || count != size {
		err = fmt.Errorf("%s, %d bytes, %w", answer.Status, count, cmp.Or(err, io.EOF))
	}
	return errors.Join(err, answer.Body.Close())
}

// download reads through a tunnel.
func (l load) download(end time.Time) ([]time.Duration, int64, error) {
	conn, reader, err := l.open()
	if err != nil {
		return nil, 0, err
	}
	defer conn.Close() //nolint:errcheck // of a benchmark
	if _, err := fmt.Fprintf(conn, "GET /%d HTTP/1.1\r\nHost: %s\r\n\r\n", int64(1)<<40, destination); err != nil {
		return nil, 0, err
	}
	if err := conn.SetReadDeadline(end); err != nil {
		return nil, 0, err
	}
	buffer := make([]byte, 256<<10)
	var bytes int64
	for {
		n, err := reader.Read(buffer)
		bytes += int64(n)
		var network net.Error
		switch {
		case errors.As(err, &network) && network.Timeout():
			return nil, bytes, nil
		case err != nil:
			return nil, bytes, err
		}
	}
}

// idle opens tunnels and keeps them until it is ended.
func (l load) idle(ctx context.Context) error {
	var open []net.Conn // one that nobody refers to is closed
	for range l.Clients {
		conn, _, err := l.open()
		if err != nil {
			return err
		}
		open = append(open, conn)
	}
	fmt.Println("open")
	<-ctx.Done()
	runtime.KeepAlive(open)
	return nil
}
