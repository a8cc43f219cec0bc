package main

import (
	"fmt"
	"os"
	"sync"
	"time"
)

// progress tells on stderr what is being done: a line for each phase, and in it a count.
type progress struct {
	mu       sync.Mutex
	terminal bool
	begin    time.Time
	phase    string
	last     time.Time
	open     bool // the line on the terminal has no end yet
}

func newProgress() *progress {
	info, err := os.Stderr.Stat()
	return &progress{terminal: err == nil && info.Mode()&os.ModeCharDevice != 0, begin: time.Now()}
}

// begins begins a phase.
func (p *progress) begins(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.endLine()
	p.phase, p.last = fmt.Sprintf(format, args...), time.Now()
	fmt.Fprintf(os.Stderr, "%4.0fs %s\n", time.Since(p.begin).Seconds(), p.phase)
}

// counts is called often; it writes on a terminal at once, else every few seconds.
func (p *progress) counts(done, of int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	interval := 5 * time.Second
	if p.terminal {
		interval = 200 * time.Millisecond
	}
	if time.Since(p.last) < interval || of == 0 {
		return
	}
	p.last = time.Now()
	line := fmt.Sprintf("      %d of %d, %d %%", done, of, 100*done/of)
	if p.terminal {
		fmt.Fprintf(os.Stderr, "\r%s\033[K", line)
		p.open = true
		return
	}
	fmt.Fprintln(os.Stderr, line)
}

func (p *progress) endLine() {
	if p.open {
		fmt.Fprint(os.Stderr, "\r\033[K")
		p.open = false
	}
}
