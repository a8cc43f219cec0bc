package relay

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
)

// maxProbes are answered at a time. Whoever reaches the pod reaches this port, and must not take the memory that the tunnels
// are in.
const maxProbes = 64

// readiness is how the last CONNECT to each target went.
type readiness struct {
	targets []Target

	mutex sync.Mutex
	last  map[Target]error // nil: a tunnel was opened
}

func (r *readiness) note(target Target, err error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.last[target] = err
}

// report has a line for each target. It is ready if the last CONNECT to each that was asked for has opened a tunnel,
// and there is one: whoever waits for a new pod before he ends the old one must not lose both.
func (r *readiness) report() (text string, ready bool) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	var b strings.Builder
	ready = len(r.last) > 0
	for _, target := range r.targets {
		err, asked := r.last[target]
		said := "a tunnel was opened"
		switch {
		case !asked:
			said = "nobody has asked for a tunnel yet"
		case err != nil:
			said, ready = err.Error(), false
		}
		fmt.Fprintf(&b, "%s: %s\n", target, said)
	}
	return b.String(), ready
}

// server has no patience: a probe is one short request.
func (r *readiness) server() *http.Server {
	const patience = 2 * time.Second
	server := &http.Server{Handler: r.handler(), ReadTimeout: patience, WriteTimeout: patience, MaxHeaderBytes: 4 << 10}
	server.SetKeepAlivesEnabled(false)
	return server
}

// handler serves /healthz and /readyz. While it is reached, the relay listens.
func (r *readiness) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "it listens") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		text, ready := r.report()
		if !ready {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		fmt.Fprint(w, text)
	})
	return mux
}
