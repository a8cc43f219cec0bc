package tunnel_test

import (
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/agents/tunnel"
)

func TestWhatKubernetesWouldRefuseIsReadAndSaid(t *testing.T) {
	for name, test := range map[string]struct{ manifest, why string }{
		"a command line as one text": {
			"kind: Pod\nspec: {containers: [{name: x, args: \"--proxy-server-host=hub.example --proxy-server-port 443\"}]}",
			"spec.containers[0].args is one text, and Kubernetes takes a list; it is read as words",
		},
		"a number among arguments": {
			"kind: Pod\nspec: {initContainers: [{name: x, command: [proxy-agent, --proxy-server-host, hub.example, --proxy-server-port, 443]}]}",
			"spec.initContainers[0].command[4] is a number or a truth value, and Kubernetes takes a text",
		},
		"a cluster named 4711 in the environment": {
			"kind: Pod\nspec: {containers: [{name: x, args: [--proxy-server-host=hub.example, --proxy-server-port=443], env: [{name: CLUSTER, value: 4711}]}]}",
			"spec.containers[0].env[0].value is a number or a truth value, and Kubernetes takes a text",
		},
		"a cluster named 4711 as namespace": {
			"kind: Pod\nmetadata: {namespace: 4711}\nspec: {containers: [{name: x, args: [--proxy-server-host=hub.example, --proxy-server-port=443]}]}",
			"metadata.namespace is a number or a truth value, and Kubernetes takes a text",
		},
		"a label that is true": {
			"kind: Pod\nmetadata: {labels: {a: true}}\nspec: {containers: [{name: x, args: [--proxy-server-host=hub.example, --proxy-server-port=443]}]}",
			"metadata.labels[a] is a number or a truth value, and Kubernetes takes a text",
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := readInput(t, test.manifest)
			got, _ := judge(t, in)
			if len(in.Read) != 1 || in.Read[0].Why != test.why || got.Hub != "hub.example:443" {
				t.Errorf("%+v: %+v", got, in.Read)
			}
		})
	}
}

func TestWhatCannotBeReadIsAnErrorThatQuotesNothing(t *testing.T) {
	for name, object := range map[string]map[string]any{
		"spec is missing":                 {},
		"spec.containers is no list":      {"spec": map[string]any{"containers": password}},
		"spec.containers[0] is no object": {"spec": map[string]any{"containers": []any{password}}},
		"containers.env":                  {"spec": map[string]any{"containers": []any{map[string]any{"env": password}}}},
	} {
		_, _, err := tunnel.ReadPod(object)
		if err == nil || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), password) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestReadingLeavesTheCallersObjectAsItIs(t *testing.T) {
	args := []any{int64(4711)}
	object := map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"args": args}}}}
	if _, findings, err := tunnel.ReadPod(object); err != nil || len(findings) != 1 || args[0] != int64(4711) {
		t.Errorf("%v %v %v", args, findings, err)
	}
}
