package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// row is one figure.
type row struct{ figure, value string }

// writeTable writes the rows in Markdown, the figures aligned, so that they can be read as they are.
func writeTable(out io.Writer, rows []row) {
	all := slices.Insert(slices.Clone(rows), 0, row{"figure", "value"}, row{"---", "---"})
	width := 0
	for _, r := range all {
		width = max(width, utf8.RuneCountInString(r.figure))
	}
	for _, r := range all {
		fmt.Fprintf(out, "| %-*s | %s |\n", width, r.figure, r.value)
	}
}

// percentile is the smallest of the durations that p percent of them do not exceed, 0 of none.
func percentile(durations []time.Duration, p int) time.Duration {
	if len(durations) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(durations))
	return sorted[max(0, (len(sorted)*p+99)/100-1)]
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

func milliseconds(d time.Duration) string { return fmt.Sprintf("%d ms", d.Milliseconds()) }

func mebibytes(kibibytes int) string { return fmt.Sprintf("%d MiB", (kibibytes+512)/1024) }

func joined(durations []time.Duration) string {
	texts := make([]string, len(durations))
	for i, d := range durations {
		texts[i] = fmt.Sprintf("%.1f", d.Seconds())
	}
	return strings.Join(texts, ", ") + " s"
}

func count(n int) string { return strconv.Itoa(n) }
