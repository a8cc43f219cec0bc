package mutation_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/internal/agents/mutation"
)

// tunnels are the policies of values for tunnels, by name. Each file is over the one before.
func tunnels(t *testing.T, files ...string) map[string]admissionregistrationv1.MutatingAdmissionPolicySpec {
	t.Helper()
	var texts [][]byte
	for _, file := range files {
		texts = append(texts, []byte(file))
	}
	values, err := mutation.ReadValues(texts...)
	if err != nil {
		t.Fatal(err)
	}
	chart, err := values.Render()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]admissionregistrationv1.MutatingAdmissionPolicySpec{}
	for _, read := range chart.Policies {
		policy := admissionregistrationv1.MutatingAdmissionPolicy{}
		if err := yaml.UnmarshalStrict(read.Text, &policy); err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(policy.Name, "tunnel-") {
			found[policy.Name] = policy.Spec
		}
	}
	return found
}

// rowOf is the policy that has a family with this label value, the first of its key, and its row there.
func rowOf(policies map[string]admissionregistrationv1.MutatingAdmissionPolicySpec, value string) (policy, row string) {
	for name, spec := range policies {
		for _, v := range spec.Variables {
			for line := range strings.Lines(v.Expression) {
				if v.Name == "families" && strings.Contains(line, `:["`+value+`"`) {
					return name, line
				}
			}
		}
	}
	return "", ""
}

func has(spec admissionregistrationv1.MutatingAdmissionPolicySpec, variable string) bool {
	return slices.ContainsFunc(spec.Variables, func(v admissionregistrationv1.Variable) bool { return v.Name == variable })
}

const (
	proxied  = `proxy: {http: "http://u:p@proxy.example:3128", https: "http://u:p@proxy.example:3128", noProxy: a}`
	byTLS    = `proxy: {https: "https://proxy.example:3129", noProxy: a}`
	sidecars = `tunnels: {families: {sidecar: {through: Sidecar}, chisel: {through: Sidecar}}}`
)

// The relay reads the Secret, which is not there with Literal. Without a proxy it would lead to itself. Whose way it is
// gets no policy, others do. e2e/charts has what the report says of them.
func TestWhereThereIsNoRelayItsFamiliesHaveNoPolicy(t *testing.T) {
	const mine = `tunnels: {families: {mine: {labels: {app: [mine]}, containers: [], through: Relay}}}`
	relays := []string{"relay", "sidecar", "chisel", "mine"}
	for name, test := range map[string]struct {
		given []string
		none  []string
	}{
		"Literal":          {[]string{proxied, "carry: Literal"}, relays},
		"Literal, by TLS":  {[]string{byTLS, "carry: Literal"}, append(relays, "frpc", "proxy-agent")},
		"no proxy":         {nil, relays},
		"a proxy for HTTP": {[]string{`proxy: {http: "http://proxy.example:3128", noProxy: a}`}, relays},
		"a proxy":          {[]string{proxied}, nil},
		"a proxy by TLS":   {[]string{byTLS}, nil},
	} {
		policies := tunnels(t, append(test.given, sidecars, mine)...)
		for _, label := range append(relays, "frpc", "proxy-agent", "environment", "klusterlet-agent") {
			if policy, _ := rowOf(policies, label); (policy == "") != slices.Contains(test.none, label) {
				t.Errorf("%s: agents of the label %s have the policy %q", name, label, policy)
			}
		}
	}
}

func TestWhatAProxyThatSpeaksTLSChangesIsTheWayOfAgents(t *testing.T) {
	for given, relayed := range map[string]bool{proxied: false, byTLS: true, strings.Replace(byTLS, "https:/", "HTTPS:/", 1): true} {
		policies := tunnels(t, given)
		for label, can := range map[string]bool{
			"frpc": true, "konnectivity-agent": true, "proxy-agent": true, "klusterlet-agent": false, "cattle-cluster-agent": false, "relay": true,
		} {
			policy, _ := rowOf(policies, label)
			if got := has(policies[policy], "relayed"); got != (can && (relayed || label == "relay")) {
				t.Errorf("with %s, %s goes through a relay: %t", given, label, got)
			}
		}
		for name, spec := range policies {
			if has(spec, "led") {
				t.Errorf("with %s, %s is there, which nobody has chosen", given, name)
			}
		}
	}
}

// A name says way and keys, and stays whatever other families there are.
func TestFamiliesOfOneWayAndOneSetOfKeysShareAPolicy(t *testing.T) {
	own := tunnels(t, proxied, `
tunnels:
  families:
    mine: {labels: {app: [mine, frpc]}, containers: [], through: Environment, reads: [http_proxy]}
    foreign: {labels: {example.com/Agent_kind: [foreign]}, containers: [], through: Environment, reads: [http_proxy]}
    alike: {labels: {example.org/Agent_kind: [alike]}, containers: [], through: Environment, reads: [http_proxy]}
    both: {labels: {app: [both], tier: [edge]}, containers: [], through: Environment, reads: [http_proxy]}
    rancher: null`)
	const hashed = "-[0-9a-f]{8}$"
	seen := map[string]string{}
	for value, want := range map[string]string{
		"frpc": "^tunnel-environment-app$", "teleport-kube-agent": "^tunnel-environment-app$", "mine": "^tunnel-environment-app$",
		"environment": "^tunnel-environment$", "relay": "^tunnel-relay$", "konnectivity-agent": "^tunnel-environment-(k8s-)?app$",
		"foreign": "^tunnel-environment-agent-kind" + hashed, "alike": "^tunnel-environment-agent-kind" + hashed,
		"both": "^tunnel-environment-app-tier" + hashed, "edge": "^tunnel-environment-app-tier" + hashed,
		"cattle-cluster-agent": "^$", "chisel": "^$",
	} {
		seen[value], _ = rowOf(own, value)
		if !regexp.MustCompile(want).MatchString(seen[value]) {
			t.Errorf("%s is in %q, not %s", value, seen[value], want)
		}
	}
	if seen["foreign"] == seen["alike"] {
		t.Errorf("two keys have the policy %s", seen["alike"])
	}
	policies := tunnels(t, proxied)
	for value, reads := range map[string]string{"frpc": `"reads":dyn(["http_proxy"])`, "teleport-kube-agent": `"reads":dyn(["HTTPS_PROXY","https_proxy"])`} {
		if _, row := rowOf(policies, value); !strings.Contains(row, reads) {
			t.Errorf("%s has the row %s", value, row)
		}
	}
	selected := policies["tunnel-environment-app"].MatchConstraints.ObjectSelector.MatchExpressions[0]
	if selected.Key != "app" || len(selected.Values) != 12 {
		t.Errorf("it selects %v", selected)
	}
}
