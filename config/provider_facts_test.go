package config_test

import (
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/config"
	"github.com/fairlead-io/fairlead/internal/core/provider"
)

func TestTheOperatorMayReadEveryKindOfTheTableThatHasFacts(t *testing.T) {
	text, err := config.Files.ReadFile("rbac/provider_facts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var role rbacv1.ClusterRole
	documents := strings.Split(string(text), "\n---\n")
	if err := yaml.UnmarshalStrict([]byte(documents[len(documents)-1]), &role); err != nil {
		t.Fatal(err)
	}
	var missing, granted []string
	for _, rule := range role.Rules {
		if !slices.Equal(rule.Verbs, []string{"get"}) {
			t.Errorf("%v may be more than read: %v", rule.Resources, rule.Verbs)
		}
		for _, resource := range rule.Resources {
			granted = append(granted, resource+"."+rule.APIGroups[0])
		}
	}
	table, err := provider.Builtin("")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range table.Rows() {
		resource := strings.ToLower(row.Kind) + "s." + row.Group
		at := slices.Index(granted, resource)
		switch {
		case at >= 0 && len(row.Facts) > 0:
			granted = slices.Delete(granted, at, at+1)
		case len(row.Facts) > 0:
			missing = append(missing, resource)
		}
	}
	if len(missing) > 0 {
		t.Errorf("not readable: %v", missing)
	}
	if len(granted) > 0 {
		t.Errorf("readable without need: %v", granted)
	}
}
