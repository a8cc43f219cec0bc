package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// percentile is the smallest of the durations that p percent of them do not exceed.
func percentile(durations []time.Duration, p int) time.Duration {
	sorted := slices.Sorted(slices.Values(durations))
	return sorted[max(0, (len(sorted)*p+99)/100-1)]
}

// report writes the table, in Markdown.
func report(out io.Writer, options options, results []result) {
	rows := [][]string{{
		"policy", "p50 ms", "p99 ms", "added p50", "of the ClusterPolicy's",
		"AdmissionReviews per pod", "Kyverno ms per pod", "CPU of Kyverno, ms per pod",
	}}
	base, field := find(results, baseline), find(results, theField)
	added := func(r result) time.Duration { return percentile(r.took, 50) - percentile(base.took, 50) }
	for _, r := range results {
		row := []string{r.policy, milliseconds(percentile(r.took, 50)), milliseconds(percentile(r.took, 99)), "", ""}
		if r.policy != baseline {
			row[3], row[4] = milliseconds(added(r)), fmt.Sprintf("%.0f %%", 100*float64(added(r))/float64(added(field)))
		}
		pods := float64(len(r.took))
		rows = append(rows, append(row, fmt.Sprintf("%.2f", r.reviews.count/pods),
			fmt.Sprintf("%.2f", 1000*r.reviews.seconds/pods), milliseconds(r.kyverno/time.Duration(len(r.took)))))
	}
	write(out, rows)
	fmt.Fprintf(out, "\n%d pods for each policy, in %d rounds.\n", options.Rounds*options.Pods, options.Rounds)
}

func find(results []result, policy string) result {
	return results[slices.IndexFunc(results, func(r result) bool { return r.policy == policy })]
}

func milliseconds(d time.Duration) string { return fmt.Sprintf("%.2f", d.Seconds()*1000) }

// write aligns the columns, so that the table can be read as it is.
func write(out io.Writer, rows [][]string) {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], len(cell))
		}
	}
	rule := make([]string, len(widths))
	for i, width := range widths {
		rule[i] = strings.Repeat("-", width-min(i, 1)) + strings.Repeat(":", min(i, 1)) // numbers to the right
	}
	for _, row := range slices.Insert(slices.Clone(rows), 1, rule) {
		for i, cell := range row {
			if i == 0 {
				fmt.Fprintf(out, "| %-*s ", widths[i], cell)
			} else {
				fmt.Fprintf(out, "| %*s ", widths[i], cell)
			}
		}
		fmt.Fprintln(out, "|")
	}
}
