package process

import (
	"os/exec"
	"runtime"
	"sync"
)

// forks hands commands to the one thread that starts them all.
//
// A program is to die with the test that started it, however the test dies: a panic, go test's own
// timeout, SIGKILL. Linux offers that as the parent-death signal, but "parent" there is the thread that
// forked, not the process. The Go runtime ends a thread when a goroutine that is locked to it returns,
// which is just what tests do that work in network namespaces; a program forked on such a thread
// would be killed in the middle of the test. Therefore one goroutine, locked to its thread and never
// returning, forks for everybody.
var forks = sync.OnceValue(func() chan<- func() {
	work := make(chan func())
	go func() {
		runtime.LockOSThread()
		for do := range work {
			do()
		}
	}()
	return work
})

func fork(cmd *exec.Cmd) error {
	result := make(chan error, 1)
	forks() <- func() { result <- cmd.Start() }
	return <-result
}
