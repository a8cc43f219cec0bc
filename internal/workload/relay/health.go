package relay

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/fairlead-io/fairlead/internal/workload/healthz"
)

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
func (r *readiness) report(http.Header) (string, error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	var lines []string
	ready := len(r.last) > 0
	for _, target := range r.targets {
		err, ok := r.last[target]
		said := "a tunnel was opened"
		switch {
		case !ok:
			said = "nobody has asked for a tunnel yet"
		case err != nil:
			said, ready = err.Error(), false
		}
		lines = append(lines, fmt.Sprintf("%s: %s", target, said))
	}
	text := strings.Join(lines, "\n")
	if !ready {
		return "", errors.New(text)
	}
	return text, nil
}

// handler serves /healthz and /readyz. While it is reached, the relay listens.
func (r *readiness) handler() http.Handler { return healthz.Mux("it listens", r.report) }
