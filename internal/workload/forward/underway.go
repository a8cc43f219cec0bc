package forward

import (
	"sync"

	"github.com/fairlead-io/fairlead/internal/workload/upstream"
)

// underway counts requests by the settings that they began with: one that waits for the proxy's answer may still send a
// credential that is in no settings any more.
type underway struct {
	mutex sync.Mutex
	of    map[*upstream.Settings]int
}

// begin counts a request until the end.
func (u *underway) begin(settings *upstream.Settings) (end func()) {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	if u.of == nil {
		u.of = map[*upstream.Settings]int{}
	}
	u.of[settings]++
	return func() {
		u.mutex.Lock()
		defer u.mutex.Unlock()
		if u.of[settings]--; u.of[settings] == 0 {
			delete(u.of, settings)
		}
	}
}

// by returns the number for each fingerprint, as the current settings name them.
func (u *underway) by(current *upstream.Settings) map[string]int {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	counts := map[string]int{}
	for settings, n := range u.of {
		marks := map[string]bool{}
		for _, c := range current.Configured(settings) {
			marks[c.Fingerprint] = true
		}
		for mark := range marks {
			counts[mark] += n
		}
	}
	return counts
}
