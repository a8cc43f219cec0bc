package cli

import (
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/fairlead-io/fairlead/internal/core/lint"
)

// style is how a text for people looks.
type style struct {
	colour bool
	width  int // of the terminal; 0 where there is none
}

// styleFor uses what a terminal has: its width, and colours unless they are not wanted (https://no-color.org).
func styleFor(out io.Writer) style {
	file, is := out.(*os.File)
	if !is || !term.IsTerminal(int(file.Fd())) {
		return style{}
	}
	s := style{colour: os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
	if width, _, err := term.GetSize(int(file.Fd())); err == nil {
		s.width = width
	}
	return s
}

// lineWidth is that of sentences where there is no terminal; leastLine is what a sentence needs to be read.
const lineWidth, leastLine = 100, 40

// line is how long the lines of sentences are.
func (s style) line() int {
	if s.width == 0 {
		return lineWidth
	}
	return max(s.width, leastLine)
}

// notes are what is said below a table: a line for each, or on a terminal as many as it takes.
func (s style) notes(all []string) string {
	text := ""
	for _, note := range all {
		if s.width > 0 {
			note = strings.Join(wrapped(note, s.line()), "\n")
		}
		text += note + "\n"
	}
	return text
}

// The escape sequences (ECMA-48, 8.3.117).
const (
	bold, red, green, yellow, blue = "1", "31", "32", "33", "34"
)

func (s style) paint(colour, text string) string {
	if !s.colour || colour == "" {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

// severity begins the line of a finding.
func (s style) severity(of lint.Severity) string {
	return s.paint(findingColours[string(of)], string(of)) + strings.Repeat(" ", len(indent)-len(of))
}

func (s style) decision(decision, text string) string { return s.paint(decisionColour(decision), text) }

func decisionColour(decision string) string {
	switch {
	case strings.HasPrefix(decision, "direct"):
		return green
	case strings.HasPrefix(decision, "proxy"):
		return blue
	}
	return red
}
