package policies_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/e2e/policies"
)

// row is one of the decision table in the policy's README: what a container has, and which groups it gets.
type row struct {
	number string
	has    corev1.Container
	gets   []string
	below  bool     // all of them by one envFrom below its own, where there is a Secret
	list   bool     // the list that its own refers to, and its own in the other case of letters
	wins   []string // what it gets where that would win over its sources; nil if the same
}

var (
	tableRow  = regexp.MustCompile("(?m)^\\| (\\d+) \\| `(.*?)` \\| ([A-Z_ ]+|nothing) \\|(?: ([A-Z_ ]+|nothing) \\|)?")
	rowNumber = regexp.MustCompile(`(?m)^\| \d+ \|`)
	groups    = []string{"HTTP", "HTTPS", "NO_PROXY"}
)

// decisionsFolder has the tables.
const decisionsFolder = "testdata/decisions"

// decisions are the rows of the table of inject-proxy-env.
var decisions = sync.OnceValues(func() (rows []row, err error) {
	table, err := cellsOf(policies.InjectProxyEnv, tableRow)
	if err != nil {
		return nil, err
	}
	for _, cells := range table {
		r := row{number: cells[1]}
		if err := yaml.UnmarshalStrict([]byte(cells[2]), &r.has); err != nil {
			return nil, fmt.Errorf("row %s of the decision table: %w", r.number, err)
		}
		switch cells[3] {
		case "nothing":
		case "BELOW":
			r.gets, r.below = groups, true
		case "BELOW LIST":
			r.gets, r.below, r.list = groups[:2], true, true
		default:
			r.gets = strings.Fields(strings.TrimSuffix(cells[3], "LIST"))
			r.list = strings.HasSuffix(cells[3], "LIST")
		}
		if cells[4] != "" {
			r.wins = strings.Fields(strings.TrimSuffix(strings.TrimPrefix(cells[4], "nothing"), "LIST"))
		}
		for _, group := range slices.Concat(r.gets, r.wins) {
			if !slices.Contains(groups, group) {
				return nil, fmt.Errorf("row %s of the decision table: %s is no group", r.number, group)
			}
		}
		rows = append(rows, r)
	}
	return rows, nil
})

// cellsOf returns what a pattern finds in each row of a policy's table. The first cell is the row's number.
func cellsOf(policy string, pattern *regexp.Regexp) ([][]string, error) {
	text, err := os.ReadFile(filepath.Join(decisionsFolder, policy+".md"))
	if err != nil {
		return nil, err
	}
	rows := pattern.FindAllStringSubmatch(string(text), -1)
	for i, cells := range rows {
		if cells[1] != fmt.Sprint(i+1) {
			return nil, fmt.Errorf("row %s of the table of %s is the %d. that can be read", cells[1], policy, i+1)
		}
	}
	if all := rowNumber.FindAllString(string(text), -1); len(all) != len(rows) || len(rows) == 0 {
		return nil, fmt.Errorf("of %d rows of the table of %s only %d can be read", len(all), policy, len(rows))
	}
	return rows, nil
}

// under is the row as it is for a variant without a Secret.
func (r row) under(v variant) row {
	if v.values["carry"] != nil && r.wins != nil {
		r.gets = r.wins
	}
	return r
}

// adds returns the entries of the groups that the container gets. If the pod's annotation has more entries, they
// extend the list.
func (r row) adds(entries []corev1.EnvVar, more string) []corev1.EnvVar {
	var adds []corev1.EnvVar
	for _, entry := range entries {
		group := strings.ToUpper(entry.Name)
		if group != "NO_PROXY" {
			group = strings.TrimSuffix(group, "_PROXY")
		}
		if slices.Contains(r.gets, group) && (group != "NO_PROXY" || more == "") {
			adds = append(adds, entry)
		}
	}
	if slices.Contains(r.gets, "NO_PROXY") {
		adds = append(adds, extended(entries, more)...)
	}
	return adds
}

// ourList returns the list among the entries, under the name by which others refer to it.
func ourList(entries []corev1.EnvVar) corev1.EnvVar {
	list := entries[slices.IndexFunc(entries, func(e corev1.EnvVar) bool { return e.Name == "NO_PROXY" })]
	list.Name = "FAIRLEAD_NO_PROXY"
	return list
}

// extended are the lists of a pod with more entries in its annotation.
func extended(entries []corev1.EnvVar, more string) []corev1.EnvVar {
	if more == "" {
		return nil
	}
	value := more + ",$(FAIRLEAD_NO_PROXY)"
	return []corev1.EnvVar{ourList(entries), {Name: "NO_PROXY", Value: value}, {Name: "no_proxy", Value: value}}
}

// asked is the environment of a container whose own list refers to ours, with what it gets for that.
func asked(env, entries []corev1.EnvVar) []corev1.EnvVar {
	all := append([]corev1.EnvVar{ourList(entries)}, env...)
	own := env[slices.IndexFunc(env, func(e corev1.EnvVar) bool { return strings.EqualFold(e.Name, "NO_PROXY") })]
	for _, own.Name = range []string{"NO_PROXY", "no_proxy"} {
		if !slices.ContainsFunc(env, func(e corev1.EnvVar) bool { return e.Name == own.Name }) {
			all = append(all, own)
		}
	}
	return all
}

// What the table must never say, whatever else is in it.
func TestTheDecisionTableNeverPromisesAUrlWithoutOurNoProxy(t *testing.T) {
	for _, r := range must(t, decisions) {
		url := slices.Contains(r.gets, "HTTP") || slices.Contains(r.gets, "HTTPS")
		if list := slices.Contains(r.gets, "NO_PROXY"); url != list && !r.list || list && r.list {
			t.Errorf("row %s gets %v", r.number, r.gets)
		}
	}
}
