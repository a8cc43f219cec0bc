package terminal

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Bar draws how much is done. Where there is no terminal it draws nothing.
func (s Style) Bar(done, of int) string {
	if s.width == 0 || of <= 0 {
		return ""
	}
	const most = 40
	width := min(most, s.Line()/2)
	full := min(max(done*width/of, 0), width)
	return "[" + s.Paint(Green, strings.Repeat("#", full)) + strings.Repeat("-", width-full) + "] "
}

// Screen is a text that is replaced by a later one.
type Screen struct {
	out   io.Writer
	style Style
	lines int
}

// NewScreen returns one, and whether the output can be replaced.
func NewScreen(out io.Writer) (*Screen, bool) {
	s := &Screen{out: out, style: For(out)}
	return s, s.style.width > 0
}

// Style returns the style for texts on the screen.
func (s *Screen) Style() Style { return s.style }

// Show replaces the earlier text. Lines that are longer than the terminal take
// several.
func (s *Screen) Show(text []byte) {
	s.Clear()
	_, _ = s.out.Write(text)
	for line := range bytes.Lines(text) {
		s.lines += 1 + max(utf8.RuneCount(bytes.TrimRight(line, "\n"))-1, 0)/max(s.style.width, 1)
	}
}

// Clear removes the last text (ECMA-48, 8.3.22 and 8.3.39).
func (s *Screen) Clear() {
	if s.lines > 0 {
		fmt.Fprintf(s.out, "\x1b[%dA\x1b[J", s.lines)
	}
	s.lines = 0
}
