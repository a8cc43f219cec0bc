package upstream

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// piped is a connection in memory.
type piped struct{ net.Conn }

func (p piped) CloseWrite() error { return p.Close() }

// company answers what a function says, on connections of any number, until they end.
func company(answer func(*http.Request) string) *Dialer {
	return NewDialer(func(context.Context, string) (Conn, error) {
		near, far := net.Pipe()
		go func() {
			defer far.Close() //nolint:errcheck // of a test
			reader := bufio.NewReader(far)
			for {
				request, err := http.ReadRequest(reader)
				if err != nil {
					return
				}
				if _, err := io.WriteString(far, answer(request)); err != nil {
					return
				}
			}
		}()
		return piped{near}, nil
	})
}

const (
	refuses = "HTTP/1.1 407 no\r\nProxy-Authenticate: Basic realm=x\r\nContent-Length: 0\r\n\r\n"
	accepts = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
	opens   = "HTTP/1.1 200 OK\r\n\r\n"
)

const limit = Timeout(30 * time.Second)

// client asks through one dialer, by CONNECT and for http URLs.
type client struct {
	dialer *Dialer
	plain  *Transport
	proxy  Proxy
}

func newClient(t *testing.T, d *Dialer, proxy Proxy) client {
	t.Helper()
	plain := d.NewTransport(proxy, nil, limit)
	t.Cleanup(plain.Close)
	return client{d, plain, proxy}
}

func (c client) get(ctx context.Context, host string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+host+"/", nil)
	if err != nil {
		return err
	}
	response, err := c.plain.RoundTrip(request)
	if err == nil {
		err = response.Body.Close()
	}
	return err
}

func (c client) connect(ctx context.Context, host string) error {
	ctx, cancel := limit.Bound(ctx)
	defer cancel()
	tunnel, err := c.dialer.Open(ctx, c.proxy, nil, host+":443", "")
	if err == nil {
		err = tunnel.Close()
	}
	return err
}

// Any server may say 407. It stops nobody else, whatever the proxy says to a tunnel there.
func TestADestinationThatSays407StopsNobody(t *testing.T) {
	for name, tunnel := range map[string]string{
		"a tunnel":  opens,
		"bad":       "HTTP/1.1 502 no\r\n\r\n",
		"overload":  "HTTP/1.1 503 no\r\n\r\n",
		"late":      "HTTP/1.1 504 no\r\n\r\n",
		"no answer": "",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newClient(t, company(func(r *http.Request) string {
					evil := strings.Contains(r.Host, "evil")
					switch {
					case evil && r.Method == http.MethodConnect && tunnel == "":
						time.Sleep(time.Minute)
						return opens
					case evil && r.Method == http.MethodConnect:
						return tunnel
					case evil:
						return refuses
					case r.Method == http.MethodConnect:
						return opens
					}
					return accepts
				}), two())
				if err := c.get(t.Context(), "example.com"); err != nil {
					t.Fatal(err)
				}
				done := make(chan error)
				for i := range 20 {
					go func() { done <- c.get(t.Context(), fmt.Sprintf("evil-%d.example", i)) }()
					synctest.Wait()
					began := time.Now()
					for what, err := range map[string]error{"a request": c.get(t.Context(), "example.com"), "a tunnel": c.connect(t.Context(), "example.com")} {
						if err != nil || time.Since(began) > 0 {
							t.Fatalf("%d: %s of another: %v, after %s", i, what, err, time.Since(began))
						}
					}
				}
				for range 20 {
					if err := <-done; err == nil || !strings.Contains(err.Error(), "said so, and not the proxy") && !errors.Is(err, limit) {
						t.Error(err)
					}
				}
				time.Sleep(2 * time.Minute) // until the company's proxy has said all
			})
		})
	}
}

// Who has waited in vain for its turn to ask whose a 407 is does not say that the proxy accepts the password.
func TestWhoHasNotAskedWhoseA407IsDoesNotSay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t, company(func(r *http.Request) string {
			switch {
			case !strings.Contains(r.Host, "evil"):
				return accepts
			case r.Method == http.MethodConnect:
				time.Sleep(time.Minute)
			}
			return refuses
		}), two())
		if err := c.get(t.Context(), "example.com"); err != nil {
			t.Fatal(err)
		}
		done := make(chan error)
		for range 20 {
			go func() { done <- c.get(t.Context(), "evil.example") }()
		}
		late := 0
		for range 20 {
			if err := <-done; errors.Is(err, limit) {
				late++
			}
		}
		if late < 10 {
			t.Errorf("%d of 20 know nothing", late)
		}
		time.Sleep(2 * time.Minute)
	})
}

// Where the proxy refuses tunnels, nobody knows whose a 407 is. Then requests rest, and tunnels do not.
func TestA407ThatNobodyCanExplainStopsNoTunnel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sent := 0
		c := newClient(t, company(func(r *http.Request) string {
			switch {
			case r.Method != http.MethodConnect:
				sent++
				return refuses
			case r.Host == "example.com:443":
				return opens
			}
			return "HTTP/1.1 403 no\r\n\r\n"
		}), one())
		for range 2 {
			if err := c.get(t.Context(), "mirror.example"); err == nil || errors.Is(err, ErrBackoff) {
				t.Error(err)
			}
			if err := c.get(t.Context(), "mirror.example"); !errors.Is(err, ErrBackoff) {
				t.Error(err)
			}
			time.Sleep(2 * firstPause)
		}
		time.Sleep(longPause - 2*firstPause)
		if err := c.get(t.Context(), "mirror.example"); !errors.Is(err, ErrBackoff) || sent != 2 {
			t.Error(err, sent)
		}
		if err := c.connect(t.Context(), "example.com"); err != nil {
			t.Error(err)
		}
		if err := c.get(t.Context(), "mirror.example"); errors.Is(err, ErrBackoff) {
			t.Error("a tunnel proves that the password is right, and requests still rest:", err)
		}
	})
}

// A 407 that nobody can explain has no old refusal count again under settings that are new.
func TestOtherSettingsAreTriedByTunnelsToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var right atomic.Bool
		d := company(func(r *http.Request) string {
			switch {
			case !right.Load() || r.Method != http.MethodConnect:
				return refuses
			case strings.Contains(r.Host, "mirror"):
				return "HTTP/1.1 403 no\r\n\r\n"
			}
			return opens
		})
		c := newClient(t, d, one())
		for range 2 {
			if err := c.connect(t.Context(), "example.com"); err == nil || errors.Is(err, ErrBackoff) {
				t.Fatal(err)
			}
			time.Sleep(2 * firstPause)
		}
		right.Store(true)
		next := one()
		next.generation++
		c = newClient(t, d, next)
		if err := c.get(t.Context(), "mirror.example"); err == nil || errors.Is(err, ErrBackoff) {
			t.Error(err)
		}
		if err := c.connect(t.Context(), "example.com"); err != nil {
			t.Error(err)
		}
	})
}

// However slow the proxy is to refuse a password, and however soon clients go away: a relay sends it a few times at the beginning,
// and then once or twice in half an hour.
func TestAWrongPasswordIsSentSeldom(t *testing.T) {
	const relays, hours = 10, 2
	for name, test := range map[string]struct {
		after    time.Duration // 407
		patience time.Duration // of clients
		revoked  bool          // it was accepted before
		proxy    Proxy
		first    int // within half an hour, by each
	}{
		"at once":                           {0, time.Minute, false, one(), 3},
		"at once, of two passwords":         {0, time.Minute, false, two(), 3},
		"after 1.5 s, clients wait 1 s":     {1500 * time.Millisecond, time.Second, false, one(), 3},
		"after 2.5 s, clients wait 1 s":     {2500 * time.Millisecond, time.Second, false, one(), 5},
		"after 5 s, clients wait":           {5 * time.Second, time.Minute, false, one(), 5},
		"after 20 s, clients wait 1 s":      {20 * time.Second, time.Second, false, one(), 9},
		"revoked":                           {0, time.Minute, true, one(), 3},
		"revoked, after 1.5 s, clients 1 s": {1500 * time.Millisecond, time.Second, true, one(), 12}, // those under way
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				for range relays {
					var wrong, early atomic.Int32
					var right atomic.Bool
					right.Store(test.revoked)
					c := newClient(t, company(func(r *http.Request) string {
						switch {
						case right.Load() && r.Method == http.MethodConnect:
							return opens
						case right.Load():
							return accepts
						}
						if wrong.Add(1); time.Since(began) < 30*time.Minute {
							early.Add(1)
						}
						time.Sleep(test.after)
						return refuses
					}), test.proxy)
					if test.revoked {
						if err := errors.Join(c.connect(t.Context(), "example.com"), c.get(t.Context(), "example.com")); err != nil {
							t.Fatal(err)
						}
						right.Store(false)
					}
					for i, ask := range []func(context.Context, string) error{c.connect, c.get, c.connect, c.get} {
						go func() {
							for time.Sleep(time.Duration(i) * 100 * time.Millisecond); time.Since(began) < hours*time.Hour; time.Sleep(max(time.Second, time.Since(began)/50)) {
								ctx, cancel := context.WithCancel(t.Context())
								leaves := time.AfterFunc(test.patience, cancel)
								if err := ask(ctx, fmt.Sprintf("%d.example", i)); err == nil {
									t.Error("a wrong password is accepted")
								}
								leaves.Stop()
								cancel()
							}
						}()
					}
					defer func() {
						first, later := int(early.Load()), int(wrong.Load()-early.Load())
						if first < 2 || first > test.first {
							t.Errorf("within half an hour it is sent %d times, and not 2 to %d", first, test.first)
						}
						if most := 2 * len(test.proxy.Credentials) * (hours*2 - 1); later < hours-1 || later > most {
							t.Errorf("in the %d half-hours after that %d times, and not to %d", hours*2-1, later, most)
						}
					}()
				}
				time.Sleep((hours + 1) * time.Hour) // until all have gone
			})
		})
	}
}

// The proxy asked for no password before.
func TestWithoutACredentialNoneIsSent(t *testing.T) {
	proxy := two()
	proxy.Credentials[1] = Credential{Name: "previous"}
	c := newClient(t, company(func(r *http.Request) string {
		switch {
		case r.Header.Get("Proxy-Authorization") != "":
			return refuses
		case r.Method == http.MethodConnect:
			return opens
		}
		return accepts
	}), proxy)
	if err := errors.Join(c.get(t.Context(), "example.com"), c.connect(t.Context(), "example.com")); err != nil {
		t.Fatal(err)
	}
}

// What a proxy says may be what it was told.
func TestAMalformedAnswerIsNotShown(t *testing.T) {
	for _, answer := range []string{"S3CRET\r\n\r\n", "HTTP/1.1 S3CRET\r\n\r\n", "HTTP/1.1 200 OK\r\nS3CRET\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: S3CRET\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: S3CRET\r\n\r\n"} {
		c := newClient(t, company(func(*http.Request) string { return answer }), two())
		if err := c.get(t.Context(), "example.com"); err == nil || strings.Contains(err.Error(), "S3CRET") {
			t.Errorf("%q: %v", answer, err)
		}
	}
}
