package forward

import (
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// perConnection is what a tunnel may take through a proxy that speaks TLS, with a request's header on its way. A plain one
// takes a quarter when it is idle: docs/reference/relay.md.
const perConnection = 64 << 10 // bytes

// gcPercent is for a heap of a few MiB that is mostly garbage: a tenth more requests (docs/reference/relay.md).
const gcPercent = 400

// fit has the collector keep within the memory that the process's cgroup has, and returns limits that fit into it: a relay
// that is killed for its memory ends every tunnel. Without a limit of memory they are as given.
func fit(limits Limits) Limits {
	debug.SetGCPercent(gcPercent)
	memory, err := memlimit.FromCgroup()
	if err != nil || memory == 0 {
		return limits
	}
	debug.SetMemoryLimit(int64(memory / 10 * 9))
	limits.Connections = int(min(memory/perConnection, uint64(limits.Connections)))
	return limits
}
