package tunnels_test

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"
)

// serve has a listener answer with its name and the path that it was asked for.
func serve(t *testing.T, listener net.Listener, name string) {
	t.Helper()
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, answer(name, r.URL.Path)) })}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
}

func answer(name, path string) string { return name + " was asked for " + path }

// askService asks who is dialled, which is to be the service, for something that nobody has asked for before.
func askService(ctx context.Context, dial func(context.Context) (net.Conn, error)) error {
	nonce := rand.Text()
	_, body, err := get(ctx, dial, nil, "http://"+service+"/"+nonce)
	return expect(answer(service, "/"+nonce), body, err)
}

func expect(want, got string, err error) error {
	if err == nil && got != want {
		err = fmt.Errorf("the answer is %q, not %q", got, want)
	}
	return err
}

// get asks who is dialled. headers are names and values.
func get(ctx context.Context, dial func(context.Context) (net.Conn, error), secure *tls.Config, url string, headers ...string) (status int, body string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	response, err := open(ctx, dial, secure, url, headers...)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	return response.StatusCode, string(content), err
}

func open(ctx context.Context, dial func(context.Context) (net.Conn, error), secure *tls.Config, url string, headers ...string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	transport := &http.Transport{
		DisableKeepAlives: true, TLSClientConfig: secure,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) },
	}
	return transport.RoundTrip(request)
}

// connect asks the hub's server of an apiserver-network-proxy for a connection with an address of the spoke.
func connect(ctx context.Context, conn net.Conn, address string) error {
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			return err
		}
	}
	if _, err := fmt.Fprintf(conn, "CONNECT %[1]s HTTP/1.1\r\nHost: %[1]s\r\n\r\n", address); err != nil {
		return err
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil) // nobody says more before it is asked
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("the proxy server says %s", response.Status)
	}
	return err
}
