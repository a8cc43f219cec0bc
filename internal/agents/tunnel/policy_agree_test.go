package tunnel_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-io/fairlead/internal/agents/mutation"
	"github.com/fairlead-io/fairlead/internal/agents/tunnel"
)

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

// randomAgent returns an agent, mostly one that the relay can serve.
func randomAgent(r *rand.Rand) map[string]any {
	var args []any
	host := pick(r, "hub.corp.example", "hub.corp.example", "hub.corp.example", "Hub.corp.example", "192.0.2.1", "$(HUB)", "hub_.example", "")
	if host != "" {
		args = append(args, "--proxy-server-host="+host)
	}
	if port := pick(r, "", "443", "8132", "8099", "$(PORT)", "70000"); port != "" {
		args = append(args, "--proxy-server-port", port)
	}
	container := map[string]any{"name": "agent", "image": "proxy-agent:v0.31.0", "command": []any{"/proxy-agent"}, "args": args}
	switch r.IntN(8) {
	case 0:
		container["env"] = []any{map[string]any{"name": "HTTPS_PROXY", "value": "https://own.example:3129"}}
	case 1:
		container["env"] = []any{map[string]any{"name": "HTTPS_PROXY", "valueFrom": map[string]any{"secretKeyRef": map[string]any{"name": pick(r, "fairlead-proxy", "own"), "key": "HTTPS_PROXY"}}}}
	case 2:
		container["envFrom"] = []any{map[string]any{"secretRef": map[string]any{"name": pick(r, "fairlead-proxy", "own-proxy", "own")}}}
	}
	metadata := map[string]any{"name": "p", "namespace": "n", "labels": map[string]any{"app": "agent"}}
	if targets := pick(r, "", "", "", "hub.corp.example:443", "other.example:8443", "192.0.2.1:443", "hub"); targets != "" {
		metadata["annotations"] = map[string]any{"fairlead.io/relay-targets": targets}
	}
	spec := map[string]any{"containers": []any{container}}
	switch r.IntN(12) {
	case 0:
		spec["os"] = map[string]any{"name": "windows"}
	case 1:
		spec["nodeSelector"] = map[string]any{"kubernetes.io/os": "windows"}
	case 2, 3:
		spec["hostNetwork"] = true
	case 4:
		spec["hostAliases"] = []any{map[string]any{"ip": "192.0.2.9", "hostnames": []any{"hub.corp.example"}}}
	case 5:
		spec["volumes"] = []any{map[string]any{"name": "fairlead-proxy", "emptyDir": map[string]any{}}}
	case 6:
		spec["hostAliases"] = []any{map[string]any{"ip": "127.0.0.1", "hostnames": []any{"hub.corp.example"}}}
	}
	return map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
}

// Whether a relay is added is decided by the policy, which is evaluated here as an API server does.
func TestNoRelayIsSaidWhereThePolicyAddsNone(t *testing.T) {
	t.Run("Relay", func(t *testing.T) { checkNoRelay(t, "Relay", serves) })
	t.Run("Sidecar", func(t *testing.T) {
		checkNoRelay(t, "Sidecar", func(operations []mutation.Operation, _ string) bool { return serves(operations, "") })
	})
}

func checkNoRelay(t *testing.T, way string, serves func([]mutation.Operation, string) bool) {
	t.Helper()
	values, err := mutation.ReadValues([]byte(fmt.Sprintf(`
proxy: {https: "http://proxy.example:3128", noProxy: .svc}
tunnels: {families: {agent: {labels: {app: [agent]}, containers: [agent], through: %s, reads: [HTTPS_PROXY, https_proxy]}}}`, way)))
	if err != nil {
		t.Fatal(err)
	}
	chart, err := values.Render()
	if err != nil {
		t.Fatal(err)
	}
	policies, err := chart.Choose([]string{"tunnel-agent"})
	if err != nil {
		t.Fatal(err)
	}
	family := tunnel.Family{Name: "agent", Labels: map[string][]string{"app": {"agent"}}, Containers: []string{"agent"}, Through: way, Reads: []string{"HTTPS_PROXY", "https_proxy"}}
	objects := tunnel.Objects{Secrets: map[string]map[string]string{"fairlead-proxy": {"HTTPS_PROXY": "https://proxy.example:3129"}}}
	r := rand.New(rand.NewPCG(1, 2))
	added := map[bool]int{}
	for range 3000 {
		object := randomAgent(r)
		pod, findings, err := tunnel.ReadPod(object)
		if err != nil {
			t.Fatal(err)
		}
		report := tunnel.Judge(tunnel.Input{Object: "Pod p", Pod: pod, Read: findings, Families: []tunnel.Family{family}, Objects: objects, IdleTimeout: 900})
		said := slices.ContainsFunc(report.Containers[0].Findings, func(f tunnel.Finding) bool { return f.Code == tunnel.NoRelay })
		admitted, err := mutation.Pod(object, "", "n")
		if err != nil {
			t.Fatal(err)
		}
		operations, err := policies[0].Mutate(t.Context(), admitted, &corev1.Namespace{})
		if err != nil {
			t.Fatal(err)
		}
		adds := serves(operations, strings.ToLower(report.Containers[0].Hub))
		added[adds]++
		if said == adds {
			t.Errorf("NoRelay: %v, and the policy adds one: %v\n%v\n%+v", said, adds, object, report.Containers[0])
		}
	}
	if added[true] < 100 || added[false] < 100 {
		t.Errorf("it is added %d times, and %d times not: the search is blind", added[true], added[false])
	}
}

// serves reports whether operations add a relay for the hub, or any where the hub is not known.
func serves(operations []mutation.Operation, hub string) bool {
	for _, o := range operations {
		if sidecar, ok := o.Value.(map[string]any); ok && sidecar["name"] == tunnel.RelayName {
			targets, _ := sidecar["args"].([]any)
			return hub == "" || slices.Contains(targets, any("--target="+hub))
		}
	}
	return false
}
