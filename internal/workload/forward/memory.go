package forward

import (
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// perConnection is what a request or a tunnel may take, with the largest headers and a body on both ways. Most take
// far less: docs/reference/scale.md.
const perConnection = 192 << 10 // bytes

// gcPercent is for a heap of a few MiB that is mostly garbage: a tenth more requests.
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
	return limits.in(memory)
}

// in returns the limits that fit into so many bytes. A quarter of them is the process's own, and garbage.
func (l Limits) in(memory uint64) Limits {
	return l.within(int(min(memory/4*3/perConnection, uint64(l.Connections))))
}

// within returns limits of so many connections, of which one address has the same share as before.
func (l Limits) within(connections int) Limits {
	l.PerSource = max(1, l.PerSource*connections/l.Connections)
	l.Connections = connections
	return l
}
