package password_test

import (
	"os"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/agents/password"
)

// The audit policy and the command find the same.
func TestPasswordsAreFoundByThePatternsOfTheAuditPolicy(t *testing.T) {
	policy, err := os.ReadFile("../../../policies/audit-proxy-env/audit-proxy-env.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, pattern := range password.Patterns() {
		if !strings.Contains(string(policy), "'"+pattern+"'") {
			t.Errorf("the policy has no %s", pattern)
		}
	}
	for value, want := range map[string]bool{
		"http://me:S3CRET@proxy.example:3128":       true,
		"http://me:S3C@RET@proxy.example:3128":      true,
		"http://me:S3C/R#ET@proxy.example:3128":     true,
		"me:S3CRET@proxy.example:3128":              true,
		".svc,http://me:S3CRET@proxy.example":       true,
		"http://:S3CRET@proxy.example:3128":         true,
		"http://me:$$(PASSWORD)@proxy.example:3128": true,
		"http://me:$(PASSWORD)@proxy.example:3128":  false,
		"http://me@proxy.example:3128":              false,
		"http://me:@proxy.example:3128":             false,
		"http://proxy.example:3128":                 false,
		"proxy.example:3128":                        false,
		"http://[::1]:3128/":                        false,
		"10.0.0.0/8,::1,.svc,registry.example:5000": false,
		"": false,
	} {
		got := password.InValue(value)
		if got != want {
			t.Errorf("%q: %v", value, got)
		}
	}
}
