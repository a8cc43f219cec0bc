package upstream

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// While one tries the new password, others take the old one. When the proxy refuses that, they ask with the new one.
func TestTheOldPasswordIsRefusedWhileTheNewOneIsTried(t *testing.T) {
	for name, ask := range map[string]func(client, context.Context, string) error{"a tunnel": client.connect, "a request": client.get} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var revoked atomic.Bool
				both := two()
				old := both
				old.Credentials = both.Credentials[1:]
				d := company(func(r *http.Request) string {
					switch isOld := r.Header.Get("Proxy-Authorization") == old.Credentials[0].Header(); {
					case isOld && revoked.Load():
						time.Sleep(2 * time.Second)
						return refuses
					case !isOld:
						time.Sleep(time.Second)
					}
					if r.Method == http.MethodConnect {
						return opens
					}
					return accepts
				})
				if err := ask(newClient(t, d, old), t.Context(), "example.com"); err != nil {
					t.Fatal(err)
				}
				revoked.Store(true)
				c := newClient(t, d, both)
				first := make(chan error)
				go func() { first <- ask(c, t.Context(), "example.com") }()
				synctest.Wait()
				if err := ask(c, t.Context(), "example.com"); err != nil {
					t.Error(err)
				}
				if err := <-first; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// An accepted old password says nothing about the new one of the same account, which the proxy is slow to refuse.
func TestAnAcceptedPasswordEndsNoTurnOfAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		both := two()
		old := both
		old.Credentials = both.Credentials[1:]
		var sent atomic.Int32
		d := company(func(r *http.Request) string {
			if r.Header.Get("Proxy-Authorization") == old.Credentials[0].Header() {
				return opens
			}
			sent.Add(1)
			time.Sleep(9 * time.Second)
			return refuses
		})
		if err := newClient(t, d, old).connect(t.Context(), "example.com"); err != nil {
			t.Fatal(err)
		}
		c := newClient(t, d, both)
		var asked sync.WaitGroup
		for range 100 {
			asked.Go(func() {
				if err := c.connect(t.Context(), "example.com"); err != nil {
					t.Error(err)
				}
			})
			time.Sleep(100 * time.Millisecond)
		}
		asked.Wait()
		if sent.Load() > 5 { // as docs/reference/relay.md has it
			t.Errorf("a wrong password is sent %d times", sent.Load())
		}
	})
}
