// Package healthz answers the kubelet, and who reads metrics, whoever else connects; and it asks other programs.
package healthz

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// places are the connections that there may be: whoever reaches a pod reaches this port, and must not take the pod's memory.
const places = 64

// patience is for a probe, which is one short request.
const patience = 5 * time.Second

// Mux serves GET /healthz, which says that it is alive, and /readyz, which says whether it is ready, and may set headers.
func Mux(alive string, ready func(http.Header) (text string, err error)) *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, alive) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		text, err := ready(w.Header())
		if err != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
			text = err.Error()
		}
		fmt.Fprintln(w, text)
	})
	return mux
}

// Metrics serves GET /metrics of these collectors.
func Metrics(mux *http.ServeMux, collectors ...prometheus.Collector) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors...)
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
}

// client asks pods and this machine, whatever proxy the environment has. They end each connection anyway.
var client = http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// Get asks another program.
func Get(ctx context.Context, url string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	return client.Do(request)
}

// ListenAndServe serves on an address until it is stopped. The error says why it cannot listen.
func ListenAndServe(address string, handler http.Handler) (stop func(), err error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("health: %w", err)
	}
	return Serve(listener, handler), nil
}

// Serve serves until it is stopped.
func Serve(listener net.Listener, handler http.Handler) (stop func()) {
	var open connections
	server := &http.Server{Handler: handler, ConnState: open.state, ReadTimeout: patience, WriteTimeout: patience, MaxHeaderBytes: 4 << 10}
	server.SetKeepAlivesEnabled(false)
	go func() { _ = server.Serve(listener) }() // until it is closed
	return func() { _ = server.Close() }
}

// connections are the open ones, the oldest first.
type connections struct {
	mutex sync.Mutex
	all   []connection
}

type connection struct {
	net.Conn

	source netip.Addr
}

// state gives a new connection a place. If there is none, the address with most connections loses its oldest: a kubelet that asks
// once in a while finds a place, whoever has taken all.
func (c *connections) state(conn net.Conn, state http.ConnState) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	switch state {
	case http.StateNew:
		at, _ := netip.ParseAddrPort(conn.RemoteAddr().String())
		c.all = append(c.all, connection{conn, at.Addr().Unmap()})
		if len(c.all) > places {
			_ = c.oldestOfMost().Close()
		}
	case http.StateClosed, http.StateHijacked:
		c.all = slices.DeleteFunc(c.all, func(one connection) bool { return one.Conn == conn })
	case http.StateActive, http.StateIdle:
	}
}

// oldestOfMost removes a connection.
func (c *connections) oldestOfMost() connection {
	of := map[netip.Addr]int{}
	for _, one := range c.all {
		of[one.source]++
	}
	oldest := 0
	for i, one := range c.all {
		if of[one.source] > of[c.all[oldest].source] {
			oldest = i
		}
	}
	found := c.all[oldest]
	c.all = slices.Delete(c.all, oldest, oldest+1)
	return found
}
