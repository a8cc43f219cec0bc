package machine

import (
	"context"
	"io"
	"net"
)

// Forward connects each client of the listener with a connection from dial, until the context ends.
func Forward(ctx context.Context, listener net.Listener, dial func(context.Context) (net.Conn, error)) {
	context.AfterFunc(ctx, func() { _ = listener.Close() })
	Accept(listener, func(from net.Conn) {
		to, err := dial(ctx)
		if err != nil {
			return
		}
		go func() {
			defer to.Close() //nolint:errcheck // both ends see it
			_, _ = io.Copy(to, from)
		}()
		_, _ = io.Copy(from, to)
	})
}

// Accept handles each connection to the listener, and then closes it, until the listener is closed.
func Accept(listener net.Listener, handle func(net.Conn)) {
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close() //nolint:errcheck // both ends see it
				handle(conn)
			}()
		}
	}()
}

// To dials an address of this machine's, outside of all networks.
func To(address string) func(context.Context) (net.Conn, error) {
	return func(ctx context.Context) (net.Conn, error) { return new(net.Dialer).DialContext(ctx, "tcp", address) }
}
