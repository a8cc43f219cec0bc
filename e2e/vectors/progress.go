package main

import (
	"fmt"
	"os"
	"time"
)

// progress tells people how far a client is.
type progress struct {
	name        string
	done, total int
	began, told time.Time
}

func newProgress(name string, total int) *progress {
	now := time.Now()
	return &progress{name: name, total: total, began: now, told: now}
}

func (p *progress) step() {
	p.done++
	if p.done == p.total {
		fmt.Fprintf(os.Stderr, "%-45s %5d/%d in %s\n", p.name, p.done, p.total, time.Since(p.began).Round(100*time.Millisecond))
	} else if time.Since(p.told) > 10*time.Second {
		fmt.Fprintf(os.Stderr, "%-45s %5d/%d\n", p.name, p.done, p.total)
		p.told = time.Now()
	}
}
