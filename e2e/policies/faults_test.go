package policies_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/tier"
)

// fault is a policy that somebody broke, and the corner of the corpus that must notice.
type fault struct {
	axis     string
	what     string
	in       string // the name of a variable, or a field of matchConstraints, or mutations
	old, new string
	of       variant // secretRef unless another is named

	row       string // of the decision table; the first unless another is named
	place     string // container unless another is named
	selection string // plain unless another is named

	kyverno bool // under Kyverno, too, where many policies take long to install
}

var faults = []fault{
	{axis: "env", what: "own value not seen", in: "containers", old: ".map(e, e.name.upperAscii())", new: ".filter(e, false)", row: "3", kyverno: true},
	{axis: "env", what: "lower case not seen", in: "containers", old: ".map(e, e.name.upperAscii())", new: ".map(e, e.name)", row: "4"},
	{axis: "env", what: "odd case not seen", in: "containers", old: ".map(e, e.name.upperAscii())", new: ".map(e, e.name == e.name.lowerAscii(), e.name.upperAscii())", row: "5"},
	{axis: "env", what: "upper case not seen", in: "containers", old: ".map(e, e.name.upperAscii())", new: ".map(e, e.name != e.name.upperAscii(), e.name.upperAscii())", row: "10"},
	{axis: "env", what: "valueFrom not seen", in: "containers", old: ".map(e, e.name.upperAscii())", new: ".map(e, !has(e.valueFrom), e.name.upperAscii())", row: "8"},
	{axis: "env", what: "empty value not seen", in: "containers", old: ".map(e, e.name.upperAscii())", new: ".map(e, has(e.value) || has(e.valueFrom), e.name.upperAscii())", row: "9"},
	{axis: "env", what: "duplicates not seen", in: "owners", old: "group in c.names", new: "c.names.exists_one(name, name == group)", row: "7"},
	{axis: "env", what: "only the exact name is respected", in: "additions", old: "e.name.upperAscii() in c.owns + c.may", new: "e.name in c.owns + c.may", row: "3"},
	{axis: "env", what: "own NO_PROXY, our URL", in: "additions", old: "!('NO_PROXY' in c.owns + c.may) &&", new: "", row: "15"},
	{axis: "env", what: "own ALL_PROXY, our URL", in: "additions", old: "!('ALL_PROXY' in c.owns + c.may) &&", new: "", row: "21"},
	{axis: "env", what: "our NO_PROXY with own URLs", in: "additions", old: "!('HTTP_PROXY' in c.owns + c.may && 'HTTPS_PROXY' in c.owns + c.may)", new: "true", row: "13"},
	{axis: "env", what: "envFrom not seen", in: "owners", old: "name == 'fairlead-proxy' ||", new: "", row: "27", kyverno: true},
	{axis: "env", what: "every envFrom is respected", in: "owners", old: "name == 'fairlead-proxy' ||", new: "true ||", row: "28"},
	{axis: "env", of: literal, what: "ours over a source that is left alone", in: "owners", old: "variables.excludedSources.exists(", new: "false && variables.excludedSources.exists(", row: "26"},
	{axis: "env", what: "ours over a source that may have its own", in: "sources", old: "{'secretRef': {'name': dyn('fairlead-proxy'), ?'optional': optional.ofNonZeroValue(dyn(!variables.served))}}", new: "", row: "28", kyverno: true},
	{axis: "env", what: "a source that may have the rest not seen", in: "additions", old: "c.owns + c.may", new: "c.owns", row: "37"},
	{axis: "env", what: "ours below the wish of a container", in: "below", old: "size(c.owns) == 0 &&", new: "", row: "37"},
	{axis: "env", what: "ours above its own sources", in: "mutations", old: "/envFrom/0", new: "/envFrom/-", row: "28"},
	{axis: "env", what: "below a source whose prefix allows for none", in: "below", old: "size(c.may) > 0", new: "true", row: "29"},
	{axis: "env", what: "envFrom of Secrets not seen", in: "owners", old: "from.?secretRef.name.orValue('')", new: "''", row: "27"},
	{axis: "env", what: "prefix not seen", in: "owners", old: "group.startsWith(from.?prefix.orValue('').upperAscii())", new: "true", row: "29"},
	{axis: "env", what: "the case of a prefix matters", in: "owners", old: "from.?prefix.orValue('').upperAscii()", new: "from.?prefix.orValue('')", row: "31"},
	{axis: "env", what: "a group without its lower case", in: "given", old: "dyn(variables.entries)", new: "dyn(variables.entries.filter(e, e.name != 'no_proxy'))"},
	{axis: "env", what: "own entries replaced", in: "owners", old: "'hasEnv': dyn(size(c.env) > 0)", new: "'hasEnv': dyn(false)", row: "2", kyverno: true},
	{axis: "env", what: "no list to append to", in: "owners", old: "'hasEnv': dyn(size(c.env) > 0)", new: "'hasEnv': dyn(true)"},
	{axis: "env", what: "ours come first", in: "mutations", old: "a.path + '/env/-'", new: "a.path + '/env/0'", row: "2"},

	{axis: "more", what: "annotation ignored", in: "more", old: "fairlead.io/no-proxy", new: "fairlead.io/other", selection: "more-entries", kyverno: true},
	{axis: "more", what: "blanks kept", in: "more", old: ".map(e, e.trim())", new: "", selection: "more-entries"},
	{axis: "more", what: "empty entries kept", in: "more", old: ".filter(e, e != '')", new: "", selection: "no-more-entries"},
	{axis: "more", what: "expanded by the kubelet", in: "more", old: ".replace('$', '$$')", new: "", selection: "more-entries"},
	{axis: "more", what: "another key of the Secret", in: "list", old: "e.name == 'NO_PROXY'", new: "e.name == 'HTTP_PROXY'", selection: "more-entries"},
	{axis: "more", of: literal, what: "no value of the list", in: "list", old: "?'value': dyn(e).?value,", new: "", selection: "more-entries"},
	{axis: "more", what: "no list to refer to", in: "extended", old: "variables.list +", new: "", selection: "more-entries"},
	{axis: "more", what: "one case of letters", in: "extended", old: "['NO_PROXY', 'no_proxy']", new: "['NO_PROXY']", selection: "more-entries"},
	{axis: "more", what: "ours as if there were none, too", in: "given", old: "dyn(variables.urls)", new: "dyn(variables.entries)", selection: "more-entries"},
	{axis: "more", what: "not where ours are below", in: "below", old: "c.asks ? [] : variables.extended", new: "[]", row: "28", selection: "more-entries"},
	{axis: "more", what: "beside a list that asks", in: "additions", old: "c.asks ? dyn(variables.urls) : variables.given", new: "c.asks ? dyn(variables.urls) + variables.extended : variables.given", row: "42", selection: "more-entries"},
	{axis: "more", what: "beside a list that asks, ours below", in: "below", old: "c.asks ? [] : variables.extended", new: "variables.extended", row: "51", selection: "more-entries"},

	{axis: "asks", what: "not seen", in: "asking", old: "e.?value.orValue('').replace('$$', '').contains('$(FAIRLEAD_NO_PROXY)')", new: "false", row: "42", kyverno: true},
	{axis: "asks", what: "seen everywhere", in: "asking", old: "e.?value.orValue('').replace('$$', '').contains('$(FAIRLEAD_NO_PROXY)')", new: "true", row: "15"},
	{axis: "asks", what: "seen where kubelet sees none", in: "asking", old: ".replace('$$', '')", new: "", row: "56"},
	{axis: "asks", what: "one list of two is enough", in: "asking", old: "c.env.all(", new: "c.env.exists(", row: "46"},
	{axis: "asks", what: "a value from elsewhere not seen", in: "asking", old: "e.name.upperAscii() != 'NO_PROXY'", new: "!has(e.value) || e.name.upperAscii() != 'NO_PROXY'", row: "47"},
	{axis: "asks", what: "no URL", in: "owners", old: "!(group == 'NO_PROXY' && variables.asking.exists(a, a.path == c.path)) &&", new: "", row: "42"},
	{axis: "asks", what: "its own list replaced", in: "additions", old: "c.asks ? dyn(variables.urls) : variables.given", new: "variables.given", row: "42"},
	{axis: "asks", what: "ours behind its own", in: "mutations", old: "/env/0", new: "/env/-", row: "42"},
	{axis: "asks", what: "not the other case of letters", in: "asking", old: "!c.env.exists(e, e.name == name)", new: "false", row: "42"},
	{axis: "asks", what: "the other case replaced", in: "asking", old: "!c.env.exists(e, e.name == name)", new: "true", row: "45"},
	{axis: "asks", what: "ours twice", in: "containers", old: "!c.?env.orValue([]).exists(e, e.name == 'FAIRLEAD_NO_PROXY')", new: "true", row: "54"},

	{axis: "place", what: "containers left out", in: "lists", old: "['containers', 'initContainers']", new: "['initContainers']"},
	{axis: "place", what: "init containers left out", in: "lists", old: "['containers', 'initContainers']", new: "['containers']", place: initContainer},
	{axis: "place", what: "native sidecars left out", in: "containers", old: "!(c.name in variables.settled)", new: "c.?restartPolicy.orValue('') != 'Always'", place: sidecar, kyverno: true},
	{axis: "place", what: "ephemeral containers left out", in: "resourceRules", old: "pods/ephemeralcontainers", new: "pods/resize", place: ephemeral, kyverno: true},
	{axis: "place", what: "older ephemeral containers touched", in: "containers", old: "!(c.name in variables.settled)", new: "true", place: ephemeral, kyverno: true},
	{axis: "place", what: "the wrong list of an old pod", in: "lists", old: "['ephemeralContainers']", new: "['containers']", place: ephemeral},

	{axis: "operation", what: "updates of old pods touched", in: "resourceRules", old: "CREATE", new: "*", place: relabelled, kyverno: true},

	{axis: "selection", what: "waits for what may never come", in: "served", old: "!= 'false'", new: "!= 'ignored'", selection: "namespace-unserved", kyverno: true},
	{axis: "selection", what: "waits before there is anything", in: "served", old: "orValue('false')", new: "orValue('')", selection: "namespace-unmarked"},
	{axis: "selection", what: "waits for nothing", in: "served", old: "!= 'false'", new: "== 'ignored'"},
	{axis: "selection", what: "host network not left out", in: "hostNetwork", old: "true", new: "false", selection: "host-network", kyverno: true},
	{axis: "selection", what: "host network left out though it asks", in: "excluded", old: "variables.included ?", new: "variables.optIn && variables.included ?", selection: "host-network-namespace-include"},
	{axis: "selection", what: "annotation exclude ignored", in: "excluded", old: "== 'exclude'", new: "== 'ignored'", selection: "annotation-exclude", kyverno: true},
	{axis: "selection", what: "label exclude ignored", in: "objectSelector", old: "exclude", new: "ignored", selection: "label-exclude", kyverno: true},
	{axis: "selection", what: "namespace label exclude ignored", in: "namespaceSelector", old: "exclude", new: "ignored", selection: "namespace-exclude", kyverno: true},
	{axis: "selection", what: "excluded namespaces ignored", in: "namespaceSelector", old: "-named", new: "-ignored", selection: "namespace-excluded-by-name", kyverno: true},
	{axis: "selection", what: "excluded names ignored", in: "excluded", old: "variables.name.matches(variables.excludedNames.join('|'))", new: "false", selection: "capi-controller-manager-name"},
	{axis: "selection", what: "generateName not seen", in: "name", old: "object.metadata.?generateName.orValue('')", new: "''", selection: "capi-controller-manager-generated"},
	{axis: "selection", what: "excluded labels ignored", in: "excluded", old: ".matches('(?m)' + variables.excludedLabels.join('|'))", new: "== 'nothing'", selection: "control-plane-provider"},
	{axis: "selection", what: "excluded label ignored by the API server", in: "objectSelector", old: "cluster-api", new: "ignored", selection: "core-provider"},
	{axis: "selection", what: "excluded label of any value ignored", in: "objectSelector", old: "kamaji.clastix.io/name", new: "kamaji.clastix.io/ignored", selection: "kamaji-control-plane"},
	{axis: "selection", what: "mirror pods not left alone", in: "excluded", old: "config.mirror", new: "config.nothing", selection: "mirror"},
	{axis: "selection", what: "include ignores exclude", in: "excluded", old: "variables.annotations[?variables.key].orValue('') == 'exclude'", new: "!variables.included && variables.annotations[?variables.key].orValue('') == 'exclude'", selection: "label-include-annotation-exclude"},
	{axis: "selection", what: "optIn ignored", in: "excluded", old: "variables.optIn ?", new: "false ?", of: optIn},
	{axis: "selection", what: "annotation include ignored", in: "included", old: "[variables.annotations, variables.labels,", new: "[variables.labels,", of: optIn, selection: "annotation-include"},
	{axis: "selection", what: "label include ignored", in: "included", old: "variables.labels, dyn(", new: "dyn(", of: optIn, selection: "label-include"},
	{axis: "selection", what: "namespace label include ignored", in: "included", old: ", dyn(namespaceObject.metadata.?labels.orValue({}))", new: "", of: optIn, selection: "namespace-include", kyverno: true},
	{axis: "selection", what: "Palette's label ignored", in: "included", old: "== 'proxy'", new: "== 'nothing'", of: optIn, selection: "palette-proxy"},

	{axis: "carry", what: "another Secret", in: "entries", old: "fairlead-proxy", new: "proxy"},
	{axis: "carry", what: "another value", in: "entries", old: "3128", new: "8080", of: literal, kyverno: true},
	{axis: "carry", what: "a key of the Secret for all", in: "entries", old: "'key': dyn(name)", new: "'key': dyn('HTTP_PROXY')"},
}

// into breaks the policy.
func (f fault) into(spec map[string]any) error {
	place := spec["matchConstraints"].(map[string]any)[f.in]
	if f.in == "mutations" {
		place = spec[f.in]
	}
	for _, v := range spec["variables"].([]any) {
		if v.(map[string]any)["name"] == f.in {
			place = v
		}
	}
	if replaced := replace(place, f.old, f.new); replaced == 0 {
		return fmt.Errorf("%s: %s: nothing in %s says %q", f.axis, f.what, f.in, f.old)
	}
	return nil
}

// replace changes all texts in a map or list, and counts them.
func replace(place any, before, after string) int {
	count := 0
	changed := func(value any) any {
		text, isText := value.(string)
		if !isText {
			count += replace(value, before, after)
			return value
		}
		count += strings.Count(text, before)
		return strings.ReplaceAll(text, before, after)
	}
	switch place := place.(type) {
	case map[string]any:
		for key, value := range place {
			if key != "name" { // of a variable
				place[key] = changed(value)
			}
		}
	case []any:
		for i, value := range place {
			place[i] = changed(value)
		}
	}
	return count
}

func (v variant) corner(rows []row) corner {
	f := v.fault
	found := corner{variant: v, selection: selections[0], rows: rows[:1], places: []string{container, initContainer, sidecar}}
	if f.selection != "" {
		found.selection = selectionNamed(f.selection)
	}
	if f.place == ephemeral || f.place == relabelled {
		found.places = []string{f.place}
	}
	for i, r := range rows {
		if r.number == f.row {
			found.rows = rows[i : i+1]
		}
	}
	return found
}

func TestABrokenPolicyIsNoticed(t *testing.T) {
	tier.Full(t)
	corpus := mustCorpus(t)
	for _, e := range corpus.engines {
		t.Run(e.name, func(t *testing.T) {
			for _, v := range broken(e.name) {
				t.Run(v.fault.axis+": "+v.fault.what, func(t *testing.T) {
					diff, err := corpus.difference(t.Context(), e, v.corner(mustDecisions(t)))
					controlplanetest.Require(t, err)
					if diff == "" {
						t.Error("nobody does")
					}
				})
			}
		})
	}
}
