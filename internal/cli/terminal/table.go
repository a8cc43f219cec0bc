package terminal

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Cell is a text in a table, with its colour; no colour is none.
type Cell struct{ Text, Colour string }

// Table is a heading and rows. On a terminal the last column is wrapped where it would not fit.
type Table struct {
	Style   Style
	Margin  string
	Gap     int // blanks between columns
	Heading []string
	rows    [][]Cell
}

// leastLast is how narrow the last column may become: below, the terminal does better.
const leastLast = 20

// Columns returns a table as the verbs that list print it.
func Columns(s Style, heading ...string) *Table {
	return &Table{Style: s, Gap: 3, Heading: slices.Clone(heading)}
}

// Cells are cells without a colour.
func Cells(texts ...string) []Cell {
	cells := make([]Cell, len(texts))
	for i, text := range texts {
		cells[i].Text = text
	}
	return cells
}

// SafeCells are cells with what anybody may have chosen, and - where that is nothing.
func SafeCells(texts ...string) []Cell {
	cells := Cells(texts...)
	for i := range cells {
		cells[i].Text = Dash(ASCII(cells[i].Text))
	}
	return cells
}

// Add adds a row.
func (t *Table) Add(cells ...Cell) { t.rows = append(t.rows, cells) }

// Bytes lays the columns out.
func (t *Table) Bytes() []byte {
	rows := append([][]Cell{Cells(t.Heading...)}, t.rows...)
	widths := make([]int, len(t.Heading))
	for _, row := range rows {
		for i, c := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(c.Text))
		}
	}
	last := len(widths) - 1
	before := len(t.Margin)
	for _, width := range widths[:last] {
		before += width + t.Gap
	}
	var out bytes.Buffer
	for _, row := range rows {
		out.WriteString(t.Margin)
		for i, c := range row[:last] {
			fmt.Fprint(&out, t.Style.Paint(c.Colour, c.Text), strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c.Text)+t.Gap))
		}
		for i, line := range t.lines(row[last].Text, before) {
			if i > 0 {
				out.WriteString(strings.Repeat(" ", before))
			}
			fmt.Fprintln(&out, t.Style.Paint(row[last].Colour, line))
		}
	}
	return out.Bytes()
}

// lines returns the lines of the last column, which begins after so many characters.
func (t *Table) lines(text string, before int) []string {
	room := t.Style.width - before
	if room < leastLast || utf8.RuneCountInString(text) <= room {
		return []string{text}
	}
	return Wrapped(text, room)
}
