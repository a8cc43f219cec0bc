package pods_test

import (
	"encoding/json"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/internal/agents/pods"
	"github.com/fairlead-io/fairlead/internal/core/proxysecret"
	"github.com/fairlead-io/fairlead/internal/core/selection"
)

// spec is what a file of policies/ says, its expressions without white space and comments.
func spec(t *testing.T, name string) (variables map[string]string, namespaces, objects *metav1.LabelSelector) {
	t.Helper()
	var policy struct {
		MatchConstraints struct{ NamespaceSelector, ObjectSelector *metav1.LabelSelector }
		Variables        []struct{ Name, Expression string }
	}
	if err := pods.Decode(file(t, name)["spec"], &policy); err != nil {
		t.Fatal(err)
	}
	variables = map[string]string{}
	for _, v := range policy.Variables {
		variables[v.Name] = strings.Join(strings.Fields(comment.ReplaceAllString(v.Expression, "")), "")
	}
	return variables, policy.MatchConstraints.NamespaceSelector, policy.MatchConstraints.ObjectSelector
}

// allPatterns are those of a list and what a selector excludes, in the order of the alphabet.
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

// aboutMachines is about the proxy alone: a file of certificates is of use on any network.
const aboutMachines = "(variables.machines||!object.spec.?hostNetwork.orValue(false))&&"

var comment = regexp.MustCompile(`(?m)^\s*//.*$`)

// The chart gives all of them the same settings. Without the chart, the files are what there is.
func TestTheAuditPoliciesAndTheCommandGoByWhatInjectProxyEnvSays(t *testing.T) {
	inject, namespaces, objects := spec(t, "inject-proxy-env/inject-proxy-env.yaml")
	proxy := maps.Clone(inject)
	listed := slices.IndexFunc(namespaces.MatchExpressions, func(r metav1.LabelSelectorRequirement) bool { return r.Key == corev1.LabelMetadataName })
	inject["excludedLabels"] = allPatterns(t, inject["excludedLabels"], objects)
	inject["excludedNamespaces"] = `["` + strings.Join(namespaces.MatchExpressions[listed].Values, `","`) + `"]`
	inject["included"] = strings.Replace(inject["included"], "dyn(namespaceObject.metadata.?labels.orValue({}))", "variables.namespaceLabels", 1)
	_, group, _ := strings.Cut(inject["owners"], "'owns':")
	group = strings.NewReplacer( // what inject-proxy-env evaluates once for all groups, and what only it knows
		"variables.groups", inject["groups"],
		"!(group=='NO_PROXY'&&variables.asking.exists(a,a.path==c.path))&&(groupinc.names||", "c.?env.orValue([]).exists(e,e.name.upperAscii()==group)||",
		"c.envFrom", "c.?envFrom.orValue([])",
		")))})", "))",
	).Replace(group)
	trusted, sameNamespaces, sameObjects := spec(t, "inject-trusted-ca/inject-trusted-ca.yaml")
	if !reflect.DeepEqual(namespaces, sameNamespaces) || !reflect.DeepEqual(objects, sameObjects) {
		t.Error("inject-trusted-ca has other selectors than inject-proxy-env")
	}
	for _, same := range []string{"optIn", "hostNetwork", "excludedNames", "excludedLabels", "key", "annotations", "labels", "name", "included", "selected", "settled"} {
		if want := strings.Replace(proxy[same], aboutMachines, "", 1); trusted[same] != want || want == "" {
			t.Errorf("inject-trusted-ca: %s is\n%s\nand of inject-proxy-env\n%s", same, trusted[same], want)
		}
	}
	unreached, _, _ := spec(t, "audit-proxy-env/audit-proxy-unreached.yaml")
	for _, name := range []string{"audit-proxy-env", "audit-proxy-unreached"} {
		audit, _, _ := spec(t, "audit-proxy-env/"+name+".yaml")
		for _, same := range []string{"optIn", "hostNetwork", "excludedNamespaces", "excludedSources", "excludedNames", "excludedLabels", "key", "annotations", "labels", "included"} {
			if same == "excludedLabels" {
				audit[same] = allPatterns(t, audit[same], nil)
			}
			if audit[same] != inject[same] || audit[same] == "" {
				t.Errorf("%s: %s is\n%s\nand of inject-proxy-env\n%s", name, same, audit[same], inject[same])
			}
		}
		for _, same := range []string{"namespaceLabels", "excluded", "containers", "finished"} {
			if audit[same] != unreached[same] || audit[same] == "" {
				t.Errorf("%s: %s is\n%s\nand of audit-proxy-unreached\n%s", name, same, audit[same], unreached[same])
			}
		}
		if settings, has := audit["settings"]; has && !strings.Contains(settings, group) {
			t.Errorf("%s: settings\n%s\nlack the group rule\n%s", name, settings, group)
		}
	}
	if !strings.Contains(inject["entries"], "'"+proxysecret.Name+"'") || inject["key"] != "'"+selection.Key+"'" || !slices.EqualFunc(objects.MatchExpressions[:1], pods.NotExcluded.MatchExpressions, func(a, b metav1.LabelSelectorRequirement) bool { return a.String() == b.String() }) {
		t.Errorf("the command goes by %s, %s, %s", proxysecret.Name, selection.Key, pods.NotExcluded)
	}
}
