package tunnels

import (
	"bufio"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"
)

// Patience is how long squid lets a tunnel be silent, where a test shows that an agent's keepalive keeps it. The server
// of the apiserver-network-proxy allows no keepalive below 30 seconds; frpc and chisel have 30 and 25. Idle is longer than
// squid's patience.
const (
	Patience = 45 * time.Second
	Idle     = Patience + 8*time.Second
)

// Stays has nothing happen for longer than squid's patience, after which the tunnel is to be the same: changed counts what
// says that it is another one. A keepalive comes too late where a machine has much else to do, so the tunnel has three tries;
// without one it survives none of them. Returned is how many tunnels were lost in those before.
func Stays(t testing.TB, idle func(), changed func() int) (lost int) {
	t.Helper()
	for try := 1; ; try++ {
		before := changed()
		idle()
		now := changed() - before
		switch {
		case now == 0:
			return lost
		case try == 3:
			t.Errorf("no tunnel survives idle time: %d were lost, %d of them now", lost+now, now)
			return lost + now
		}
		t.Logf("%d tunnels were lost in idle time, try %d", now, try)
		lost += now
	}
}

// Serve has a listener answer with its name and the path that it was asked for.
func Serve(t testing.TB, listener net.Listener, name string) {
	t.Helper()
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, name+" was asked for "+r.URL.Path)
	})}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
}

// Ask asks who is dialled, which is to be the one of that name, for something that nobody has asked for before.
func Ask(ctx context.Context, name string, dial func(context.Context) (net.Conn, error)) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) }}
	nonce := rand.Text()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+name+"/"+nonce, nil)
	if err != nil {
		return err
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && string(body) != name+" was asked for /"+nonce {
		err = fmt.Errorf("%s says %q", name, body)
	}
	return err
}

// Connect asks the hub's server of an apiserver-network-proxy for a connection with an address of the spoke.
func Connect(ctx context.Context, conn net.Conn, address string) error {
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
