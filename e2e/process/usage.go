package process

import (
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// clockTick is the unit of times in /proc, for all architectures that Kubernetes runs on (times(2)).
const clockTick = 10 * time.Millisecond

// Memory is the memory of a process, in KiB. File counts the pages of files among them, such as its program: the kernel
// keeps these while there is room, and reads them again.
type Memory struct{ Now, Peak, File int }

// CPUTime returns the time that a process has used, in user and kernel mode.
func CPUTime(pid int) (time.Duration, error) {
	stat, err := statOf(pid)
	return time.Duration(stat.UTime+stat.STime) * clockTick, err
}

// Age is how long ago a process started.
func Age(pid int) (time.Duration, error) {
	stat, err := statOf(pid)
	if err != nil {
		return 0, err
	}
	var sinceBoot unix.Timespec
	err = unix.ClockGettime(unix.CLOCK_BOOTTIME, &sinceBoot)
	return time.Duration(sinceBoot.Nano()) - time.Duration(stat.Starttime)*clockTick, err
}

// MemoryOf returns the memory of a process now, and its peak.
func MemoryOf(pid int) (Memory, error) {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return Memory{}, err
	}
	status, err := p.NewStatus()
	return Memory{Now: int(status.VmRSS >> 10), Peak: int(status.VmHWM >> 10), File: int(status.RssFile >> 10)}, err
}

func statOf(pid int) (procfs.ProcStat, error) {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return procfs.ProcStat{}, err
	}
	return p.Stat()
}
