package charts_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/e2e/policies"
)

// rowOf is the policy that has a family with this label value, the first of its key, and its row there.
func rowOf(objects rendered, value string) (policy, row string) {
	for name, object := range objects {
		if !strings.HasPrefix(name, "MutatingPolicy/tunnel-") {
			continue
		}
		for _, variable := range object.Object["spec"].(map[string]any)["variables"].([]any) {
			v := variable.(map[string]any)
			for line := range strings.Lines(v["expression"].(string)) {
				if v["name"] == "families" && strings.Contains(line, `:["`+value+`"`) {
					return object.GetName(), line
				}
			}
		}
	}
	return "", ""
}

// A name says way and keys, and stays whatever other families there are.
func TestFamiliesOfOneWayAndOneSetOfKeysShareAPolicy(t *testing.T) {
	family := func(labels values) values {
		return values{"labels": labels, "containers": []string{}, "through": "Environment", "reads": []string{"http_proxy"}}
	}
	own := values{"tunnels": values{"families": values{
		"mine":    family(values{"app": []string{"mine", "frpc"}}),
		"foreign": family(values{"example.com/Agent_kind": []string{"foreign"}}),
		"alike":   family(values{"example.org/Agent_kind": []string{"alike"}}),
		"both":    family(values{"app": []string{"both"}, "tier": []string{"edge"}}),
		"rancher": nil,
	}}}
	const hashed = "-[0-9a-f]{8}$"
	seen := map[string]string{}
	for value, want := range map[string]string{
		"frpc": "^tunnel-environment-app$", "teleport-kube-agent": "^tunnel-environment-app$", "mine": "^tunnel-environment-app$",
		"environment": "^tunnel-environment$", "relay": "^tunnel-relay$", "konnectivity-agent": "^tunnel-environment-(k8s-)?app$",
		"foreign": "^tunnel-environment-agent-kind" + hashed, "alike": "^tunnel-environment-agent-kind" + hashed,
		"both": "^tunnel-environment-app-tier" + hashed, "edge": "^tunnel-environment-app-tier" + hashed,
		"cattle-cluster-agent": "^$", "chisel": "^$",
	} {
		policy, _ := rowOf(render(t, policies.Values(), own), value)
		if !regexp.MustCompile(want).MatchString(policy) {
			t.Errorf("%s is in %q, not %s", value, policy, want)
		}
		seen[value] = policy
	}
	if seen["foreign"] == seen["alike"] {
		t.Errorf("two keys have the policy %s", seen["alike"])
	}
	objects := render(t, policies.Values())
	for value, reads := range map[string]string{"frpc": `"reads":dyn(["http_proxy"])`, "teleport-kube-agent": `"reads":dyn(["HTTPS_PROXY","https_proxy"])`} {
		if _, row := rowOf(objects, value); !strings.Contains(row, reads) {
			t.Errorf("%s has the row %s", value, row)
		}
	}
	values := objects["MutatingPolicy/tunnel-environment-app"].Object["spec"].(map[string]any)["matchConstraints"].(map[string]any)["objectSelector"].(map[string]any)["matchExpressions"].([]any)[0].(map[string]any)
	if list := values["values"].([]any); values["key"] != "app" || len(list) != 12 {
		t.Errorf("it selects %v", values)
	}
}
