package cli

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// cell is what stands in a table, and how it looks; no colour is none.
type cell struct{ text, colour string }

// table is a heading and rows for people. On a terminal the last column is wrapped where it would not fit.
type table struct {
	style   style
	margin  string
	gap     int // blanks between columns
	heading []string
	rows    [][]cell
}

// leastLast is how narrow the last column may become: below, the terminal does better.
const leastLast = 20

func plain(texts ...string) []cell {
	cells := make([]cell, len(texts))
	for i, text := range texts {
		cells[i].text = text
	}
	return cells
}

func (t *table) add(cells ...cell) { t.rows = append(t.rows, cells) }

// bytes lays the columns out.
func (t *table) bytes() []byte {
	rows := append([][]cell{plain(t.heading...)}, t.rows...)
	widths := make([]int, len(t.heading))
	for _, row := range rows {
		for i, c := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(c.text))
		}
	}
	last := len(widths) - 1
	before := len(t.margin)
	for _, width := range widths[:last] {
		before += width + t.gap
	}
	var out bytes.Buffer
	for _, row := range rows {
		out.WriteString(t.margin)
		for i, c := range row[:last] {
			fmt.Fprint(&out, t.style.paint(c.colour, c.text), strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c.text)+t.gap))
		}
		for i, line := range t.lines(row[last].text, before) {
			if i > 0 {
				out.WriteString(strings.Repeat(" ", before))
			}
			fmt.Fprintln(&out, t.style.paint(row[last].colour, line))
		}
	}
	return out.Bytes()
}

// lines are those of the last column, which begins after so many characters.
func (t *table) lines(text string, before int) []string {
	room := t.style.width - before
	if room < leastLast || utf8.RuneCountInString(text) <= room {
		return []string{text}
	}
	return wrapped(text, room)
}

// findingColours are for what is found: the worst is red.
var findingColours = map[string]string{
	"Error": red, "Password": red, "Warning": yellow, "Outdated": yellow, "Uninjected": yellow, "Info": blue, "Fine": green,
}

// columns is a table as the verbs that list print it.
func columns(s style, heading ...string) *table {
	return &table{style: s, gap: 3, heading: slices.Clone(heading)}
}
