package terminal

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"
)

// Progress is a line on a terminal that says how far something is, once it takes longer than two seconds. On anything
// else it says nothing.
type Progress struct {
	out         io.Writer
	what        string
	start, last time.Time
}

const (
	progressAfter = 2 * time.Second
	progressEvery = 100 * time.Millisecond
)

// NewProgress begins to count.
func NewProgress(out io.Writer, what string) *Progress {
	p := &Progress{what: what, start: time.Now()}
	if file, ok := out.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		p.out = out
	}
	return p
}

// Step says how many of all are done.
func (p *Progress) Step(done, all int) { p.step(done, all, time.Now()) }

func (p *Progress) step(done, all int, now time.Time) {
	if p.out == nil || now.Sub(p.start) < progressAfter || now.Sub(p.last) < progressEvery {
		return
	}
	p.last = now
	fmt.Fprintf(p.out, "\r\x1b[K%s: %d of %d", p.what, done, all)
}

// End takes the line away.
func (p *Progress) End() {
	if p.out != nil && !p.last.IsZero() {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}
