package charts_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const exclusionPolicy = "require-exclusion-authorization"

func TestTheRightToExcludeIsBoundToNobody(t *testing.T) {
	for action, want := range map[string][]any{"Deny": {"Deny"}, "Warn": {"Warn", "Audit"}} {
		objects := render(t, values{"exclude": values{"authorization": values{"enabled": true, "action": action}}})
		if objects["ClusterRole/fairlead-exclude"] == nil || objects["ValidatingAdmissionPolicy/"+exclusionPolicy] == nil {
			t.Fatal("no role, or no policy")
		}
		if diff := cmp.Diff(any(want), nested(objects["ValidatingAdmissionPolicyBinding/"+exclusionPolicy].Object, "spec", "validationActions")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", action, diff)
		}
		for name, object := range objects {
			if strings.Contains(name, "RoleBinding/") && nested(object.Object, "roleRef", "name") == "fairlead-exclude" {
				t.Errorf("%s binds it", name)
			}
		}
	}
}
