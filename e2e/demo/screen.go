package main

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"sync"
	"text/tabwriter"
	"time"
)

const (
	width  = 78 // where the seconds of a step stand
	margin = "        "
	quiet  = 2 * time.Second // what takes longer shows that it goes on
)

// screen shows numbered steps with their seconds, and below each step its result.
type screen struct {
	out           io.Writer
	colour        bool
	number, total int

	mu     sync.Mutex // guards what follows
	doing  bool       // a step goes on
	held   []byte     // said between two steps
	column int        // of the line of the step, 0 where it has ended
	waits  []string   // of the step
}

func newScreen(out io.Writer) *screen {
	s := &screen{out: out}
	// https://no-color.org
	if file, is := out.(*os.File); is && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" {
		info, err := file.Stat()
		s.colour = err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	return s
}

// The escape sequences (ECMA-48, 8.3.117).
const bold, green, faint = "1", "32", "2"

func (s *screen) paint(how, text string) string {
	if !s.colour {
		return text
	}
	return "\x1b[" + how + "m" + text + "\x1b[0m"
}

// step prints a step, runs it, and prints its time: a dot for every second after the first two.
func (s *screen) step(what string, do func() error) error {
	s.number++
	title := fmt.Sprintf("[%2d/%d] %s ", s.number, s.total, what)
	s.mu.Lock()
	fmt.Fprint(s.out, "\n", s.paint(bold, title))
	s.column, s.doing = len(title), true
	held := s.held
	s.held = nil
	s.mu.Unlock()
	if len(held) > 0 {
		_, _ = s.Write(held) // no error
	}
	began := time.Now()
	stop := s.dots()
	err := do()
	stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.doing = false
	waits := s.waits
	s.waits = nil
	if err != nil {
		fmt.Fprintln(s.out)
		return fmt.Errorf("%s: %w", what, err)
	}
	if s.column == 0 { // what was said stands between
		title = fmt.Sprintf("[%2d/%d] done ", s.number, s.total)
		fmt.Fprint(s.out, s.paint(bold, title))
		s.column = len(title)
	}
	fmt.Fprintf(s.out, "%*s\n", max(width-s.column, 0), s.seconds(time.Since(began)))
	for _, wait := range waits {
		fmt.Fprintf(s.out, "%*s\n", width, wait)
	}
	return nil
}

// await does a part of a step that is no work of the step's own: it waits for a build. What takes long is said below the step.
func (s *screen) await(what string, do func()) {
	began := time.Now()
	do()
	if took := time.Since(began); took > quiet {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.waits = append(s.waits, "of it, waiting for "+what+": "+s.seconds(took))
	}
}

func (s *screen) seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

func (s *screen) dots() (stop func()) {
	done, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		for wait := quiet; ; wait = time.Second {
			select {
			case <-done:
				return
			case <-time.After(wait):
			}
			s.mu.Lock()
			if s.column > 0 && s.column < width-len("999.9 s ") {
				fmt.Fprint(s.out, ".")
				s.column++
			}
			s.mu.Unlock()
		}
	}()
	return func() { close(done); <-gone }
}

// Write prints a text during a step. Between two steps the text waits for the next.
func (s *screen) Write(text []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.doing {
		s.held = append(s.held, text...)
		return len(text), nil
	}
	if s.column > 0 {
		fmt.Fprintln(s.out)
		s.column = 0
	}
	fmt.Fprint(s.out, indented(string(text)))
	return len(text), nil
}

// say writes below a step.
func (s *screen) say(format string, args ...any) {
	fmt.Fprint(s.out, indented(fmt.Sprintf(format, args...)+"\n"))
}

// command prints a command that is run.
func (s *screen) command(lines ...string) {
	for i, line := range lines {
		lines[i] = s.paint(faint, "$ "+line)
	}
	s.say("\n%s", strings.Join(lines, "\n"))
}

// table writes rows with aligned columns, the first in capitals.
func (s *screen) table(rows [][]string) {
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 0, 3, ' ', 0)
	for i, row := range rows {
		line := strings.Join(row, "\t")
		if i == 0 {
			line = strings.ToUpper(line)
		}
		fmt.Fprintln(table, line)
	}
	_ = table.Flush() // into memory
	s.say("%s", strings.TrimSuffix(text.String(), "\n"))
}

func indented(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		if line != "\n" {
			out.WriteString(margin)
		}
		out.WriteString(line)
	}
	return out.String()
}

// most is how long a line may be.
const most = 110

// folded breaks long lines after commas, so that a list stays below its name.
func folded(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		depth := len(line) - len(strings.TrimLeft(line, " ")) + 4
		length := 0
		for _, part := range strings.SplitAfter(line, ",") {
			if length+len(part) > most && length > depth {
				out.WriteString("\n" + strings.Repeat(" ", depth))
				length = depth
			}
			out.WriteString(part)
			length += len(part)
		}
	}
	return out.String()
}

// cut ends a long line after a word.
func cut(line string) string {
	if len(line) <= most {
		return line
	}
	return line[:strings.LastIndexByte(line[:most], ' ')] + " ..."
}

var list = regexp.MustCompile(`[^\s"=,]+(,[^\s",]+){4,}`)

// once shortens lists that have been seen.
func once(seen map[string]bool, text string) string {
	return list.ReplaceAllStringFunc(text, func(found string) string {
		if seen[found] {
			first, _, _ := strings.Cut(found, ",")
			return first + ",... (the same)"
		}
		seen[found] = true
		return found
	})
}
