package upstream

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// company answers what a function says, on connections of any number.
func company(t *testing.T, answer func(*http.Request) string) (Proxy, *Dialer) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close() //nolint:errcheck // of a test
				reader := bufio.NewReader(conn)
				for {
					request, err := http.ReadRequest(reader)
					if err != nil {
						return
					}
					if _, err := io.WriteString(conn, answer(request)); err != nil {
						return
					}
				}
			}()
		}
	}()
	proxy := two()
	proxy.Address = listener.Addr().String()
	return proxy, NewDialer(func(ctx context.Context, address string) (Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err != nil {
			return nil, err
		}
		return conn.(*net.TCPConn), nil
	})
}

const refuses = "HTTP/1.1 407 no\r\nProxy-Authenticate: Basic realm=x\r\nContent-Length: 0\r\n\r\n"

// At a restart of all relays, the credential of before is revoked long since: who waits for the current one does not send it.
func TestNobodySendsTheOldCredentialWhileTheNewOneIsTried(t *testing.T) {
	proxy, a := two(), attempts{now: time.Now}
	if index, _, err := a.begin(t.Context(), proxy, 0, false); index != 0 || err != nil {
		t.Fatal(index, err)
	}
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if index, _, err := a.begin(short, proxy, 0, false); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("it sends %s: %v", proxy.Credentials[index], err)
	}
}

// A client that goes away before the proxy has answered does not hide a wrong password: the next one would send it again.
func TestClientsThatGoAwayDoNotHideAWrongPassword(t *testing.T) {
	var mutex sync.Mutex
	sent, first := 0, make(chan struct{})
	proxy, dialer := company(t, func(*http.Request) string {
		mutex.Lock()
		if sent++; sent == 1 {
			close(first)
		}
		mutex.Unlock()
		time.Sleep(100 * time.Millisecond)
		return refuses
	})
	proxy.Credentials = proxy.Credentials[:1]
	plain := dialer.NewTransport(proxy, nil, time.Second, errors.New("late"))
	defer plain.Close()
	began := time.Now()
	for i := range 20 {
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-first // the proxy has it
			time.Sleep(20 * time.Millisecond)
			cancel()
		}()
		if i%2 == 0 {
			_, _ = dialer.Open(ctx, proxy, nil, "example.com:443", "")
		} else {
			request, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://example.com/", nil)
			_, _ = plain.RoundTrip(request) //nolint:bodyclose // there is none
		}
		cancel()
	}
	mutex.Lock()
	defer mutex.Unlock()
	if most := 2 + int(time.Since(began)/turn); sent > most { // a busy machine takes longer than a turn
		t.Errorf("the wrong password was sent %d times, and not %d", sent, most)
	}
}

// The proxy asked for no password before.
func TestWithoutACredentialNoneIsSent(t *testing.T) {
	proxy, dialer := company(t, func(r *http.Request) string {
		if r.Header.Get("Proxy-Authorization") != "" {
			return refuses
		}
		return "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
	})
	proxy.Credentials[1].secret = nil
	plain := dialer.NewTransport(proxy, nil, time.Second, errors.New("late"))
	defer plain.Close()
	request, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://example.com/", nil)
	response, err := plain.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
}

// Any server may say 407. That must not stop the tunnels of everybody.
func TestTheDestinationOfARequestDoesNotRefuseTunnels(t *testing.T) {
	proxy, dialer := company(t, func(r *http.Request) string {
		if r.Method != http.MethodConnect {
			return refuses
		}
		return "HTTP/1.1 200 OK\r\n\r\n"
	})
	plain := dialer.NewTransport(proxy, nil, time.Second, errors.New("late"))
	defer plain.Close()
	for range 3 {
		request, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://evil.example/", nil)
		_, _ = plain.RoundTrip(request) //nolint:bodyclose // there is none
		tunnel, err := dialer.Open(t.Context(), proxy, nil, "example.com:443", "")
		if err != nil {
			t.Fatal(err)
		}
		_ = tunnel.Close()
	}
}

// A slow answer to a request from before the refusal says nothing of now.
func TestALateAnswerDoesNotBringARefusedCredentialBack(t *testing.T) {
	proxy, a := two(), attempts{now: time.Now}
	proxy.Credentials = proxy.Credentials[:1]
	a.end(proxy, 0, nil, accepted)
	_, slow, err := a.begin(t.Context(), proxy, 0, false)
	if err != nil {
		t.Fatal(err)
	}
	_, fast, err := a.begin(t.Context(), proxy, 0, false)
	if err != nil {
		t.Fatal(err)
	}
	fast(refused)
	slow(accepted)
	if _, _, err := a.begin(t.Context(), proxy, 0, false); !errors.Is(err, ErrBackoff) {
		t.Errorf("it is sent again: %v", err)
	}
}

// What a proxy says may be what it was told.
func TestAMalformedAnswerIsNotShown(t *testing.T) {
	for _, answer := range []string{"S3CRET\r\n\r\n", "HTTP/1.1 S3CRET\r\n\r\n", "HTTP/1.1 200 OK\r\nS3CRET\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: S3CRET\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: S3CRET\r\n\r\n"} {
		proxy, dialer := company(t, func(*http.Request) string { return answer })
		plain := dialer.NewTransport(proxy, nil, time.Second, errors.New("late"))
		request, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://example.com/", nil)
		_, err := plain.RoundTrip(request) //nolint:bodyclose // there is none
		if err == nil || strings.Contains(err.Error(), "S3CRET") {
			t.Errorf("%q: %v", answer, err)
		}
		plain.Close()
	}
}
