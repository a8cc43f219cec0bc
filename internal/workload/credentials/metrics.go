package credentials

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// metrics are the samples of ours in a page, by name and, of those that have the label, by fingerprint.
type metrics map[string]map[string]float64

// prefixes begin the names that are read.
var prefixes = []string{"fairlead_credentials_", "fairlead_relay_credential_"}

// parse reads Prometheus' text format as our programs write it. Of samples that differ in other labels, the highest counts.
func parse(page string) metrics {
	all := metrics{}
	for line := range strings.Lines(page) {
		if !strings.HasPrefix(line, prefixes[0]) && !strings.HasPrefix(line, prefixes[1]) {
			continue
		}
		line = strings.TrimSpace(line)
		end := strings.LastIndex(line, " ") + 1
		value, err := strconv.ParseFloat(line[end:], 64)
		if err != nil || math.IsNaN(value) {
			continue
		}
		name, labels, _ := strings.Cut(strings.TrimSpace(line[:end]), "{")
		fingerprint := ""
		if _, rest, ok := strings.Cut(labels, `fingerprint="`); ok {
			fingerprint, _, _ = strings.Cut(rest, `"`)
		}
		if all[name] == nil {
			all[name] = map[string]float64{}
		}
		all[name][fingerprint] = max(all[name][fingerprint], value)
	}
	return all
}

// value returns the value of a metric without labels.
func (m metrics) value(name string) float64 { return m[name][""] }

// at reads a metric that is a time.
func (m metrics) at(name, fingerprint string) *time.Time {
	value := m[name][fingerprint]
	if value <= 0 || value > 1e11 {
		return nil
	}
	at := time.UnixMilli(int64(value * 1000)).UTC()
	return &at
}
