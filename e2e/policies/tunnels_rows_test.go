package policies_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
)

// The texts of the policies for tunnels, and the families that the tests take.
const (
	tunnelEnvironment = "tunnel-environment"
	tunnelRelay       = "tunnel-relay"
	tunnelSidecar     = "tunnel-sidecar"

	konnectivity = "konnectivity-agent"
	clusterProxy = "cluster-proxy"
	frpc         = "frpc"
	byLabel      = "environment" // by our own label
)

// tunnelLabels are by what a pod belongs to a family, and agentOf the first of its containers.
var (
	tunnelLabels = map[string]map[string]string{
		konnectivity: {"k8s-app": "konnectivity-agent"},
		clusterProxy: {"proxy.open-cluster-management.io/component-name": "proxy-agent", "open-cluster-management.io/addon": "cluster-proxy"},
		frpc:         {"app": "frpc"},
		byLabel:      {"fairlead.io/tunnel": "environment"},
		"relay":      {"fairlead.io/tunnel": "relay"},
		"chisel":     {"app": "chisel"},
		"teleport":   {"app": "teleport-agent"},
	}
	agentOf = map[string]string{konnectivity: "konnectivity-agent", clusterProxy: "proxy-agent", frpc: "frpc", byLabel: "any", "relay": "any", "chisel": "chisel", "teleport": "teleport"}
)

// tunnelRow is one of the decision table in the README of such a policy.
type tunnelRow struct {
	text   string // the policy's
	number string
	family string
	has    tunnelPod
	gets   []string
}

// tunnelPod is what the table says of a pod.
type tunnelPod struct {
	Annotations    map[string]string `json:"annotations"`
	corev1.PodSpec `json:",inline"`
}

var tunnelTableRow = regexp.MustCompile("(?m)^\\| (\\d+) \\| ([a-z-]+) \\| `(.*?)` \\| ([^|]+) \\|")

// tunnelRows are the rows of testdata/decisions.
func tunnelRows(text string) ([]tunnelRow, error) {
	readme, err := os.ReadFile(filepath.Join("testdata", "decisions", text+".md"))
	if err != nil {
		return nil, err
	}
	return parseTunnelRows(text, string(readme))
}

func parseTunnelRows(text, readme string) ([]tunnelRow, error) {
	var rows []tunnelRow
	for i, cells := range tunnelTableRow.FindAllStringSubmatch(readme, -1) {
		r := tunnelRow{text: text, number: cells[1], family: cells[2]}
		if r.number != fmt.Sprint(i+1) {
			return nil, fmt.Errorf("row %s of the decision table is the %d. that can be read", r.number, i+1)
		}
		agent, known := agentOf[r.family]
		if !known {
			return nil, fmt.Errorf("row %s: %s is no family", r.number, r.family)
		}
		if err := r.parse(agent, cells[3]); err != nil {
			return nil, fmt.Errorf("row %s: %w", r.number, err)
		}
		for _, list := range [][]corev1.Container{r.has.Containers, r.has.InitContainers} {
			for i := range list {
				list[i].Image = "registry.example/agent:1"
			}
		}
		if cells[4] != "nothing" {
			r.gets = strings.Fields(cells[4])
		}
		rows = append(rows, r)
	}
	if all := rowNumber.FindAllString(readme, -1); len(all) != len(rows) || len(rows) == 0 {
		return nil, fmt.Errorf("of %d rows of the decision table only %d can be read", len(all), len(rows))
	}
	return rows, nil
}

// parse reads an agent, or a whole pod.
func (r *tunnelRow) parse(agent, has string) error {
	if r.text != tunnelEnvironment {
		return yaml.UnmarshalStrict([]byte(has), &r.has)
	}
	one := corev1.Container{}
	if err := yaml.UnmarshalStrict([]byte(has), &one); err != nil {
		return err
	}
	one.Name = agent
	r.has.Containers = []corev1.Container{one}
	return nil
}

// pod is the row's, of a family.
func (r tunnelRow) pod() *corev1.Pod {
	pod := &corev1.Pod{Spec: *r.has.DeepCopy()}
	pod.Name = r.name()
	pod.Labels = maps.Clone(tunnelLabels[r.family])
	pod.Annotations = r.has.Annotations
	return pod
}

func (r tunnelRow) name() string { return fmt.Sprintf("%s-%s-%s", r.text, r.family, r.number) }

func mustTunnelRows(t testing.TB, texts ...string) []tunnelRow {
	t.Helper()
	var all []tunnelRow
	for _, text := range texts {
		rows, err := tunnelRows(text)
		controlplanetest.Require(t, err)
		all = append(all, rows...)
	}
	return all
}
