package preflight

import (
	"fmt"
	"net"
	"net/http"
	"time"
)

// serve answers probes until it is stopped.
func serve(address string, ready func() bool) (stop func(), err error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("health: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "it runs") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !ready() {
			w.WriteHeader(http.StatusServiceUnavailable)
			fmt.Fprintln(w, "it does not know yet what to try")
			return
		}
		fmt.Fprintln(w, "it knows what to try")
	})
	const patience = 5 * time.Second
	server := &http.Server{Handler: mux, ReadTimeout: patience, WriteTimeout: patience, MaxHeaderBytes: 4 << 10}
	go func() { _ = server.Serve(listener) }()
	return func() { _ = server.Close() }, nil
}
