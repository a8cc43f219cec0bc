package forward

import (
	"math"
	"net"
	"sync/atomic"
	"time"

	"github.com/fairlead-io/fairlead/internal/workload/headers"
	"github.com/fairlead-io/fairlead/internal/workload/pipe"
)

// watchInterval is how often somebody looks whether the client of a request is still there. Net/http sees that only where it has
// read all that the client sent: not within a body that its destination does not read, nor with the next request behind it.
const watchInterval = 10 * time.Second

// watch cancels when the client has gone, until the end.
func watch(client net.Conn, interval time.Duration, cancel func()) (end func()) {
	if client == nil {
		return func() {}
	}
	var ended atomic.Bool
	var timer *time.Timer
	timer = time.AfterFunc(math.MaxInt64, func() {
		if pipe.Gone(headers.Under(client)) {
			cancel()
			return
		}
		if timer.Reset(interval); ended.Load() {
			timer.Stop()
		}
	})
	timer.Reset(interval)
	return func() { // else all that cancel knows would live as long as the interval
		ended.Store(true)
		timer.Stop()
	}
}
