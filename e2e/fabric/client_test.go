package fabric_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/machine"
)

func write(t *testing.T, file, text string) {
	t.Helper()
	controlplanetest.Require(t, os.WriteFile(file, []byte(text), 0o600))
}

// variables are those that the policy writes into pods of a namespace.
func variables(namespace string) []string {
	relay := fmt.Sprintf("http://%s@fairlead-relay.%s.svc:%d", namespace, system, port)
	var all []string
	for name, value := range map[string]string{"HTTP_PROXY": relay, "HTTPS_PROXY": relay, "NO_PROXY": ".svc,.cluster.local,172.16.0.0/16"} {
		all = append(all, name+"="+value, strings.ToLower(name)+"="+value)
	}
	return all
}

// client asks from a pod through the Service, with a new connection each time.
func (p *pod) client(namespace string) *http.Client {
	proxy := &url.URL{Scheme: "http", User: url.User(namespace), Host: fmt.Sprintf("%s:%d", p.fabric.service, port)}
	return &http.Client{Transport: &http.Transport{
		Proxy: http.ProxyURL(proxy), DisableKeepAlives: true,
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
		DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
			return p.fabric.network.Dial(ctx, p.network(), address)
		},
	}}
}

func get(client *http.Client, url string) (int, string) {
	response, err := client.Get(url) //nolint:noctx // it ends with the test
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err.Error()
	}
	return response.StatusCode, strings.TrimSpace(string(body))
}

// tunnel opens one, and keeps it.
func (p *pod) tunnel() net.Conn {
	f := p.fabric
	conn, err := f.network.Dial(f.t.Context(), p.network(), fmt.Sprintf("%s:%d", f.service, port))
	controlplanetest.Require(f.t, err)
	f.t.Cleanup(func() { _ = conn.Close() })
	_, err = fmt.Fprintf(conn, "CONNECT %[1]s:443 HTTP/1.1\r\nHost: %[1]s:443\r\n\r\n", machine.InternetName)
	controlplanetest.Require(f.t, err)
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil) //nolint:bodyclose // a tunnel
	controlplanetest.Require(f.t, err)
	if answer.StatusCode != http.StatusOK {
		f.t.Fatalf("no tunnel: %s", answer.Status)
	}
	return conn
}

// load asks for both kinds of URLs until it is stopped, each with a connection of its own.
type load struct {
	done, failed atomic.Int64
	of           []atomic.Int64 // that have ended, by client
	failures     chan string
	stop         func()
}

func (p *pod) load(clients int) *load {
	ctx, cancel := context.WithCancel(context.Background())
	l := &load{of: make([]atomic.Int64, clients), failures: make(chan string, 100)}
	ended := make(chan struct{})
	client := p.client("shop")
	for i := range clients {
		go func() {
			defer func() { ended <- struct{}{} }()
			target := []string{"http://" + machine.InternetName + "/", "https://" + machine.InternetName + "/"}[i%2]
			for ctx.Err() == nil {
				if status, text := get(client, target); status != http.StatusOK {
					l.failed.Add(1)
					select {
					case l.failures <- fmt.Sprintf("%s: %d %s", target, status, text):
					default:
					}
				}
				l.done.Add(1)
				l.of[i].Add(1)
			}
		}()
	}
	l.stop = func() {
		cancel()
		for range clients {
			<-ended
		}
	}
	return l
}

// noneFailed holds that no request has failed.
func (l *load) noneFailed(t *testing.T) {
	t.Helper()
	if failed := l.failed.Load(); failed != 0 {
		t.Errorf("of %d requests %d failed: %s", l.done.Load(), failed, <-l.failures)
	}
}

// await returns when so many more requests have ended.
func (l *load) await(t *testing.T, more int64) {
	t.Helper()
	from := l.done.Load()
	controlplanetest.Await(t, fmt.Sprintf("%d requests", more), func(context.Context) (bool, error) {
		done := l.done.Load() - from
		return controlplanetest.Holds(done >= more, "there are %d", done)
	})
}

// awaitUnderWay returns when the request of each client that is under way has ended.
func (l *load) awaitUnderWay(t *testing.T) {
	t.Helper()
	for i := range l.of {
		from := l.of[i].Load()
		controlplanetest.Await(t, fmt.Sprintf("the request of client %d", i), func(context.Context) (bool, error) {
			return controlplanetest.Holds(l.of[i].Load() > from, "it has made none since")
		})
	}
}
