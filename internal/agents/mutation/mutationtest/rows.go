// Package mutationtest has the tables of decisions of the policies for tunnels, from e2e/policies/testdata/decisions,
// and the values for which they hold. The tests of mutation check the result of each row. Those of e2e/policies check
// that the engines make the same.
package mutationtest

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// The texts of the policies for tunnels.
const (
	Environment = "tunnel-environment"
	Relay       = "tunnel-relay"
	Sidecar     = "tunnel-sidecar"
)

// The families that most tests take.
const (
	Konnectivity = "konnectivity-agent"
	ClusterProxy = "cluster-proxy"
	Frpc         = "frpc"
	ByLabel      = "environment" // by our own label
)

// Labels are by what a pod belongs to a family.
var Labels = map[string]map[string]string{
	Konnectivity: {"k8s-app": "konnectivity-agent"},
	ClusterProxy: {"proxy.open-cluster-management.io/component-name": "proxy-agent", "open-cluster-management.io/addon": "cluster-proxy"},
	Frpc:         {"app": "frpc"},
	ByLabel:      {"fairlead.io/tunnel": "environment"},
	"relay":      {"fairlead.io/tunnel": "relay"},
	"chisel":     {"app": "chisel"},
	"teleport":   {"app": "teleport-agent"},
}

// AgentOf is the first of a family's containers.
var AgentOf = map[string]string{
	Konnectivity: "konnectivity-agent", ClusterProxy: "proxy-agent", Frpc: "frpc", ByLabel: "any", "relay": "any", "chisel": "chisel", "teleport": "teleport",
}

// Row is one of a table.
type Row struct {
	Text   string // the policy's
	Number string
	Family string
	Gets   []string
	has    hasPod
}

// hasPod has the columns of the table that describe a pod.
type hasPod struct {
	Annotations    map[string]string `json:"annotations"`
	corev1.PodSpec `json:",inline"`
}

var (
	tableRow  = regexp.MustCompile("(?m)^\\| (\\d+) \\| ([a-z-]+) \\| `(.*?)` \\| ([^|]+) \\|")
	rowNumber = regexp.MustCompile(`(?m)^\| \d+ \|`)
)

// Rows returns the rows of a policy's table that are about one of the families; nil stands for all.
func Rows(folder, text string, families []string) ([]Row, error) {
	table, err := os.ReadFile(filepath.Join(folder, text+".md"))
	if err != nil {
		return nil, err
	}
	found := tableRow.FindAllStringSubmatch(string(table), -1)
	if all := rowNumber.FindAll(table, -1); len(all) != len(found) || len(found) == 0 {
		return nil, fmt.Errorf("of %d rows of %s only %d can be read", len(all), text, len(found))
	}
	var rows []Row
	for i, cells := range found {
		r := Row{Text: text, Number: cells[1], Family: cells[2]}
		if r.Number != fmt.Sprint(i+1) {
			return nil, fmt.Errorf("row %s of %s is the %d. that can be read", r.Number, text, i+1)
		}
		if err := r.parse(cells[3]); err != nil {
			return nil, fmt.Errorf("row %s of %s: %w", r.Number, text, err)
		}
		if cells[4] != "nothing" {
			r.Gets = strings.Fields(cells[4])
		}
		if families == nil || slices.Contains(families, r.Family) {
			rows = append(rows, r)
		}
	}
	return rows, nil
}

// parse reads an agent, or a whole pod.
func (r *Row) parse(has string) error {
	agent, known := AgentOf[r.Family]
	if !known {
		return fmt.Errorf("%s is no family", r.Family)
	}
	if r.Text != Environment {
		if err := yaml.UnmarshalStrict([]byte(has), &r.has); err != nil {
			return err
		}
	} else {
		one := corev1.Container{}
		if err := yaml.UnmarshalStrict([]byte(has), &one); err != nil {
			return err
		}
		one.Name = agent
		r.has.Containers = []corev1.Container{one}
	}
	for _, list := range [][]corev1.Container{r.has.Containers, r.has.InitContainers} {
		for i := range list {
			list[i].Image = "registry.example/agent:1"
		}
	}
	return nil
}

// Pod returns the row's pod, of its family.
func (r Row) Pod() *corev1.Pod {
	pod := &corev1.Pod{Spec: *r.has.DeepCopy()}
	pod.Name = fmt.Sprintf("%s-%s-%s", r.Text, r.Family, r.Number)
	pod.Labels = maps.Clone(Labels[r.Family])
	pod.Annotations = maps.Clone(r.has.Annotations)
	return pod
}

// OnNode is the row with its pod on the network of the node.
func (r Row) OnNode() Row {
	r.has.HostNetwork = true
	return r
}
