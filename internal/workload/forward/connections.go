package forward

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"sync"
)

// connections counts the open ones, tunnels among them.
type connections struct {
	mutex    sync.Mutex
	open     map[net.Conn]*connection
	bySource map[netip.Addr]int
	refused  int           // since the start
	none     chan struct{} // closed when there is none; nil if nobody waits
}

type connection struct {
	source   netip.Addr
	hijacked bool // the server does not say when it ends
}

// state follows a server's connections. Those beyond the limits are closed before they are read.
func (c *connections) state(limits Limits) func(net.Conn, http.ConnState) {
	return func(conn net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			if !c.add(conn, limits) {
				_ = conn.Close()
			}
		case http.StateClosed:
			c.remove(conn)
		case http.StateHijacked:
			c.mutex.Lock()
			defer c.mutex.Unlock()
			if found := c.open[conn]; found != nil {
				found.hijacked = true
			}
		case http.StateActive, http.StateIdle:
		}
	}
}

// add counts a connection, unless there are too many. The connections of a machine all come from its loopback
// interface. Only the limit on all connections applies to them.
func (c *connections) add(conn net.Conn, limits Limits) bool {
	at, _ := netip.ParseAddrPort(conn.RemoteAddr().String())
	source := at.Addr().Unmap()
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if len(c.open) >= limits.Connections || c.bySource[source] >= limits.PerSource && !source.IsLoopback() {
		c.refused++
		return false
	}
	if c.open == nil {
		c.open, c.bySource = map[net.Conn]*connection{}, map[netip.Addr]int{}
	}
	c.open[conn] = &connection{source: source}
	c.bySource[source]++
	return true
}

// removeHijacked removes a connection that is no longer the server's.
func (c *connections) removeHijacked(conn net.Conn) {
	c.mutex.Lock()
	found := c.open[conn]
	c.mutex.Unlock()
	if found != nil && found.hijacked {
		_ = conn.Close() // of a request that has panicked nobody else does
		c.remove(conn)
	}
}

func (c *connections) remove(conn net.Conn) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	found := c.open[conn]
	if found == nil {
		return
	}
	delete(c.open, conn)
	if c.bySource[found.source]--; c.bySource[found.source] == 0 {
		delete(c.bySource, found.source)
	}
	if c.none != nil && len(c.open) == 0 {
		close(c.none)
		c.none = nil
	}
}

func (c *connections) count() int {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return len(c.open)
}

// beyond returns how many were closed at once.
func (c *connections) beyond() int {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.refused
}

// awaitNone returns when the last connection has ended.
func (c *connections) awaitNone(ctx context.Context) error {
	c.mutex.Lock()
	if len(c.open) == 0 {
		c.mutex.Unlock()
		return nil
	}
	none := make(chan struct{})
	c.none = none
	c.mutex.Unlock()
	select {
	case <-none:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
