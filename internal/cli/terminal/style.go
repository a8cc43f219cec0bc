// Package terminal writes texts for people: tables, wrapped sentences, colours where a terminal has them.
package terminal

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"
)

// Style is how a text for people looks.
type Style struct {
	colour bool
	width  int // of the terminal; 0 where there is none
}

// For uses what a terminal has: its width, and colours unless they are not wanted (https://no-color.org).
func For(out io.Writer) Style {
	file, ok := out.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return Style{}
	}
	s := Style{colour: os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
	if width, _, err := term.GetSize(int(file.Fd())); err == nil {
		s.width = width
	}
	return s
}

// lineWidth is the width of sentences without a terminal, leastLine the least at which people can read one.
const lineWidth, leastLine = 100, 40

// Line returns how long the lines of sentences are.
func (s Style) Line() int {
	if s.width == 0 {
		return lineWidth
	}
	return max(s.width, leastLine)
}

// Paragraph returns a text as lines that begin with a margin.
func (s Style) Paragraph(margin, text string) string {
	return margin + strings.Join(Wrapped(text, s.Line()-len(margin)), "\n"+margin) + "\n"
}

// Notes returns what stands below a table: a line for each note, or on a terminal as many as it takes.
func (s Style) Notes(all ...string) string {
	text := ""
	for _, note := range all {
		if s.width > 0 {
			note = strings.Join(Wrapped(note, s.Line()), "\n")
		}
		text += note + "\n"
	}
	return text
}

// The escape sequences (ECMA-48, 8.3.117).
const (
	Bold   = "1"
	Yellow = "33"
	Red    = "31"
	Green  = "32"
	blue   = "34"
)

// Paint returns the text in a colour; no colour is none.
func (s Style) Paint(colour, text string) string {
	if !s.colour || colour == "" {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

// Severity returns the colour of a severity or of a kind of finding: the worst is red.
func Severity(found string) string {
	return map[string]string{
		"Error": Red, "Password": Red, "Warning": Yellow, "Outdated": Yellow, "Uninjected": Yellow, "Info": blue, "Fine": Green,
	}[found]
}

// Decision returns the colour of a client's decision.
func Decision(decision string) string {
	switch {
	case strings.HasPrefix(decision, "direct"):
		return Green
	case strings.HasPrefix(decision, "proxy"):
		return blue
	case strings.HasPrefix(decision, "depends"):
		return Yellow
	}
	return Red
}

// Dash returns the text, or - for an empty one.
func Dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// ASCII writes out what else would move columns or the cursor: anybody who makes a pod may choose its name and owner.
// Quotes do neither, and stay.
func ASCII(text string) string {
	quoted := strconv.QuoteToASCII(text)
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}

// Plural returns a number with its noun.
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Wrapped cuts a text at blanks into lines of at most so many characters.
func Wrapped(text string, width int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}

// Shortened cuts a text that is too long for a message.
func Shortened(text string) string { return cut(text, 80) }

// Said returns what somebody wrote about something, such as a reason: it may be anything, and long.
func Said(text string, shown int) string { return cut(ASCII(text), shown) }

func cut(text string, shown int) string {
	if len(text) > shown {
		text = strings.ToValidUTF8(text[:shown], "") + "…"
	}
	return text
}
