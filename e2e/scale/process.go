package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// clockTick is what the kernel counts processor time in, for all architectures that Kubernetes runs on (times(2)).
const clockTick = 10 * time.Millisecond

// processorTime is what a process has used, in user and kernel mode (proc_pid_stat(5), fields 14 and 15).
func processorTime(pid int) (time.Duration, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:])) // from field 3 on
	var ticks int64
	for _, field := range []int{14, 15} {
		n, err := strconv.ParseInt(fields[field-3], 10, 64)
		if err != nil {
			return 0, fmt.Errorf("read the processor time of process %d: %w", pid, err)
		}
		ticks += n
	}
	return time.Duration(ticks) * clockTick, nil
}

// sinceStart is how long a process has been there (proc_pid_stat(5), field 22; proc_uptime(5)).
func sinceStart(pid int) (time.Duration, error) {
	uptime, err := os.ReadFile("/proc/uptime")
	if err != nil {
		return 0, err
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	up, err := strconv.ParseFloat(strings.Fields(string(uptime))[0], 64)
	if err != nil {
		return 0, fmt.Errorf("read the time since the machine's start: %w", err)
	}
	ticks, err := strconv.ParseInt(strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))[22-3], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("read the start of process %d: %w", pid, err)
	}
	return time.Duration(up*float64(time.Second)) - time.Duration(ticks)*clockTick, nil
}

// memory is what a process has in memory, in kibibytes.
type memory struct{ now, peak int }

// memoryOf reads VmRSS and VmHWM (proc_pid_status(5)).
func memoryOf(pid int) (m memory, err error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return m, err
	}
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(line, ":")
		into := map[string]*int{"VmRSS": &m.now, "VmHWM": &m.peak}[name]
		if into == nil {
			continue
		}
		if *into, err = strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(value), " kB")); err != nil {
			return m, fmt.Errorf("read the memory of process %d: %w", pid, err)
		}
	}
	return m, nil
}

// usage is the processor time of several processes.
type usage map[string]time.Duration

func usageOf(pids map[string]int) (usage, error) {
	used := usage{}
	for name, pid := range pids {
		var err error
		if used[name], err = processorTime(pid); err != nil {
			return nil, err
		}
	}
	return used, nil
}

func (u usage) since(before usage) usage {
	difference := usage{}
	for name, used := range u {
		difference[name] = used - before[name]
	}
	return difference
}

func (u usage) sum() (sum time.Duration) {
	for _, used := range u {
		sum += used
	}
	return sum
}
