package main

import (
	"time"

	"github.com/fairlead-io/fairlead/e2e/process"
)

// usage is the processor time of several processes.
type usage map[string]time.Duration

func usageOf(pids map[string]int) (usage, error) {
	used := usage{}
	for name, pid := range pids {
		var err error
		if used[name], err = process.CPUTime(pid); err != nil {
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
