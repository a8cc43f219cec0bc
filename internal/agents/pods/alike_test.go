package pods_test

import (
	"encoding/json"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/internal/core/proxysecret"
	"github.com/fairlead-io/fairlead/internal/core/selection"
)

// spec returns what a file of policies/ says, its expressions without white space and comments.
func spec(t *testing.T, name string) (variables map[string]string, namespaces, objects *metav1.LabelSelector) {
	t.Helper()
	var policy struct {
		MatchConstraints struct{ NamespaceSelector, ObjectSelector *metav1.LabelSelector }
		Variables        []struct{ Name, Expression string }
	}
	text, err := json.Marshal(file(t, name)["spec"])
	if err == nil {
		err = json.Unmarshal(text, &policy)
	}
	if err != nil {
		t.Fatal(err)
	}
	variables = map[string]string{}
	for _, v := range policy.Variables {
		variables[v.Name] = strings.Join(strings.Fields(comment.ReplaceAllString(v.Expression, "")), "")
	}
	return variables, policy.MatchConstraints.NamespaceSelector, policy.MatchConstraints.ObjectSelector
}

// allPatterns returns the patterns of a list and what a selector excludes, in the order of the alphabet.
func allPatterns(t *testing.T, list string, selector *metav1.LabelSelector) string {
	t.Helper()
	var patterns []string
	if err := json.Unmarshal([]byte(list), &patterns); err != nil {
		t.Fatal(err)
	}
	if selector != nil {
		for _, e := range selector.MatchExpressions[1:] {
			if e.Operator == metav1.LabelSelectorOpDoesNotExist {
				patterns = append(patterns, "^"+regexp.QuoteMeta(e.Key)+"=.*$")
			}
			for _, value := range e.Values {
				patterns = append(patterns, "^"+regexp.QuoteMeta(e.Key+"="+value)+"$")
			}
		}
	}
	slices.Sort(patterns)
	return strings.Join(patterns, " ")
}

var comment = regexp.MustCompile(`(?m)^\s*//.*$`)

// The chart gives all of them the same settings. Without the chart, the files have their own settings: those must be
// equal.
func TestThePoliciesThatLeaveOutTheSamePodsHaveTheSameSettings(t *testing.T) {
	inject, namespaces, objects := spec(t, "inject-proxy-env/inject-proxy-env.yaml")
	trusted, sameNamespaces, sameObjects := spec(t, "inject-trusted-ca/inject-trusted-ca.yaml")
	if !reflect.DeepEqual(namespaces, sameNamespaces) || !reflect.DeepEqual(objects, sameObjects) {
		t.Error("inject-trusted-ca has other selectors than inject-proxy-env")
	}
	alike := func(policy string, variables, want map[string]string, names ...string) {
		for _, name := range names {
			if variables[name] != want[name] || want[name] == "" {
				t.Errorf("%s: %s is\n%s\nand of inject-proxy-env\n%s", policy, name, variables[name], want[name])
			}
		}
	}
	alike("inject-trusted-ca", trusted, inject, "optIn", "hostNetwork", "excludedNames", "excludedLabels", "settled")

	audit, _, _ := spec(t, "audit-proxy-env/audit-proxy-env.yaml")
	listed := slices.IndexFunc(namespaces.MatchExpressions, func(r metav1.LabelSelectorRequirement) bool { return r.Key == corev1.LabelMetadataName })
	inject["excludedLabels"] = allPatterns(t, inject["excludedLabels"], objects)
	audit["excludedLabels"] = allPatterns(t, audit["excludedLabels"], nil)
	inject["excludedNamespaces"] = `["` + strings.Join(namespaces.MatchExpressions[listed].Values, `","`) + `"]`
	alike("audit-proxy-env", audit, inject, "optIn", "hostNetwork", "machines", "excludedNamespaces", "excludedSources", "excludedNames", "excludedLabels")

	_, group, _ := strings.Cut(inject["owners"], "'owns':")
	group = strings.NewReplacer( // what inject-proxy-env evaluates once for all groups, and what only it knows
		"variables.groups", inject["groups"],
		"!(group=='NO_PROXY'&&variables.asking.exists(a,a.path==c.path))&&(groupinc.names||", "c.?env.orValue([]).exists(e,e.name.upperAscii()==group)||",
		"c.envFrom", "c.?envFrom.orValue([])",
		")))})", "))",
	).Replace(group)
	if !strings.Contains(audit["settings"], group) {
		t.Errorf("audit-proxy-env: settings\n%s\nlack the group rule\n%s", audit["settings"], group)
	}
	if !strings.Contains(inject["entries"], "'"+proxysecret.Name+"'") || inject["key"] != "'"+selection.Key+"'" {
		t.Errorf("the command goes by %s and %s", proxysecret.Name, selection.Key)
	}
}
