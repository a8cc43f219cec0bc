package mutation_test

import (
	"cmp"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/internal/agents/mutation"
	"github.com/fairlead-io/fairlead/internal/agents/mutation/mutationtest"
)

// What a policy is rendered with over mutationtest.Values, where a fault says so.
const (
	literal = "carry: Literal"
	optIn   = "optIn: true"
)

// fault is a change of inject-proxy-env by which a row of its table, as a container of each kind, gets something else.
type fault struct {
	what      string
	in        string // the name of a variable, or a field of matchConstraints, or mutations
	old, new  string
	values    string
	row       string // the first unless another is named
	pod       string // what the pod has besides
	namespace string // what its label says; of named, the name is excluded
}

var faults = []fault{
	{what: "env: own value not seen", in: "containers", old: ".map(e, e.name.upperAscii())", new: ".filter(e, false)", row: "3"},
	{what: "env: lower case not seen", in: "containers", old: ".map(e, e.name.upperAscii())", new: ".map(e, e.name)", row: "4"},
	{what: "env: odd case not seen", in: "containers", old: ".map(e, e.name.upperAscii())", new: ".map(e, e.name == e.name.lowerAscii(), e.name.upperAscii())", row: "5"},
	{what: "env: upper case not seen", in: "containers", old: ".map(e, e.name.upperAscii())", new: ".map(e, e.name != e.name.upperAscii(), e.name.upperAscii())", row: "10"},
	{what: "env: valueFrom not seen", in: "containers", old: ".map(e, e.name.upperAscii())", new: ".map(e, !has(e.valueFrom), e.name.upperAscii())", row: "8"},
	{what: "env: empty value not seen", in: "containers", old: ".map(e, e.name.upperAscii())", new: ".map(e, has(e.value) || has(e.valueFrom), e.name.upperAscii())", row: "9"},
	{what: "env: duplicates not seen", in: "owners", old: "group in c.names", new: "c.names.exists_one(name, name == group)", row: "7"},
	{what: "env: only the exact name is respected", in: "additions", old: "e.name.upperAscii() in c.owns + c.may", new: "e.name in c.owns + c.may", row: "3"},
	{what: "env: own NO_PROXY, our URL", in: "additions", old: "!('NO_PROXY' in c.owns + c.may) &&", new: "", row: "15"},
	{what: "env: own ALL_PROXY, our URL", in: "additions", old: "!('ALL_PROXY' in c.owns + c.may) &&", new: "", row: "21"},
	{what: "env: our NO_PROXY with own URLs", in: "additions", old: "!('HTTP_PROXY' in c.owns + c.may && 'HTTPS_PROXY' in c.owns + c.may)", new: "true", row: "13"},
	{what: "env: envFrom not seen", in: "owners", old: "name == 'fairlead-proxy' ||", new: "", row: "27"},
	{what: "env: every envFrom is respected", in: "owners", old: "name == 'fairlead-proxy' ||", new: "true ||", row: "28"},
	{what: "env: ours over a source that is left alone", in: "owners", old: "variables.excludedSources.exists(", new: "false && variables.excludedSources.exists(", values: literal, row: "26"},
	{what: "env: ours over a source that may have its own", in: "sources", old: "{'secretRef': {'name': dyn('fairlead-proxy'), ?'optional': optional.ofNonZeroValue(dyn(!variables.served))}}", new: "", row: "28"},
	{what: "env: a source that may have the rest not seen", in: "additions", old: "c.owns + c.may", new: "c.owns", row: "37"},
	{what: "env: ours below the wish of a container", in: "below", old: "size(c.owns) == 0 &&", new: "", row: "37"},
	{what: "env: ours above its own sources", in: "mutations", old: "/envFrom/0", new: "/envFrom/-", row: "28"},
	{what: "env: below a source whose prefix allows for none", in: "below", old: "size(c.may) > 0", new: "true", row: "29"},
	{what: "env: envFrom of Secrets not seen", in: "owners", old: "from.?secretRef.name.orValue('')", new: "''", row: "27"},
	{what: "env: prefix not seen", in: "owners", old: "group.startsWith(from.?prefix.orValue('').upperAscii())", new: "true", row: "29"},
	{what: "env: the case of a prefix matters", in: "owners", old: "from.?prefix.orValue('').upperAscii()", new: "from.?prefix.orValue('')", row: "31"},
	{what: "env: a group without its lower case", in: "given", old: "dyn(variables.entries)", new: "dyn(variables.entries.filter(e, e.name != 'no_proxy'))"},
	{what: "env: own entries replaced", in: "owners", old: "'hasEnv': dyn(size(c.env) > 0)", new: "'hasEnv': dyn(false)", row: "2"},
	{what: "env: no list to append to", in: "owners", old: "'hasEnv': dyn(size(c.env) > 0)", new: "'hasEnv': dyn(true)"},
	{what: "env: ours come first", in: "mutations", old: "a.path + '/env/-'", new: "a.path + '/env/0'", row: "2"},
	{what: "more: annotation ignored", in: "more", old: "fairlead.io/no-proxy", new: "fairlead.io/other", pod: `annotations: {fairlead.io/no-proxy: " kafka.internal,, .shop.example$(HOME) ,"}`},
	{what: "more: blanks kept", in: "more", old: ".map(e, e.trim())", new: "", pod: `annotations: {fairlead.io/no-proxy: " kafka.internal,, .shop.example$(HOME) ,"}`},
	{what: "more: empty entries kept", in: "more", old: ".filter(e, e != '')", new: "", pod: `annotations: {fairlead.io/no-proxy: " , "}`},
	{what: "more: expanded by the kubelet", in: "more", old: ".replace('$', '$$')", new: "", pod: `annotations: {fairlead.io/no-proxy: " kafka.internal,, .shop.example$(HOME) ,"}`},
	{what: "more: another key of the Secret", in: "list", old: "e.name == 'NO_PROXY'", new: "e.name == 'HTTP_PROXY'", pod: `annotations: {fairlead.io/no-proxy: " kafka.internal,, .shop.example$(HOME) ,"}`},
	{what: "more: no value of the list", in: "list", old: "?'value': dyn(e).?value,", new: "", values: literal, pod: `annotations: {fairlead.io/no-proxy: " kafka.internal,, .shop.example$(HOME) ,"}`},
	{what: "more: no list to refer to", in: "extended", old: "variables.list +", new: "", pod: `annotations: {fairlead.io/no-proxy: " kafka.internal,, .shop.example$(HOME) ,"}`},
	{what: "more: one case of letters", in: "extended", old: "['NO_PROXY', 'no_proxy']", new: "['NO_PROXY']", pod: `annotations: {fairlead.io/no-proxy: " kafka.internal,, .shop.example$(HOME) ,"}`},
	{what: "more: ours as if there were none, too", in: "given", old: "dyn(variables.urls)", new: "dyn(variables.entries)", pod: `annotations: {fairlead.io/no-proxy: " kafka.internal,, .shop.example$(HOME) ,"}`},
	{what: "more: not where ours are below", in: "below", old: "c.asks ? [] : variables.extended", new: "[]", row: "28", pod: `annotations: {fairlead.io/no-proxy: " kafka.internal,, .shop.example$(HOME) ,"}`},
	{what: "more: beside a list that asks", in: "additions", old: "c.asks ? dyn(variables.urls) : variables.given", new: "c.asks ? dyn(variables.urls) + variables.extended : variables.given", row: "42", pod: `annotations: {fairlead.io/no-proxy: " kafka.internal,, .shop.example$(HOME) ,"}`},
	{what: "more: beside a list that asks, ours below", in: "below", old: "c.asks ? [] : variables.extended", new: "variables.extended", row: "51", pod: `annotations: {fairlead.io/no-proxy: " kafka.internal,, .shop.example$(HOME) ,"}`},
	{what: "asks: not seen", in: "asking", old: "e.?value.orValue('').replace('$$', '').contains('$(FAIRLEAD_NO_PROXY)')", new: "false", row: "42"},
	{what: "asks: seen everywhere", in: "asking", old: "e.?value.orValue('').replace('$$', '').contains('$(FAIRLEAD_NO_PROXY)')", new: "true", row: "15"},
	{what: "asks: seen where kubelet sees none", in: "asking", old: ".replace('$$', '')", new: "", row: "56"},
	{what: "asks: one list of two is enough", in: "asking", old: "c.env.all(", new: "c.env.exists(", row: "46"},
	{what: "asks: a value from elsewhere not seen", in: "asking", old: "e.name.upperAscii() != 'NO_PROXY'", new: "!has(e.value) || e.name.upperAscii() != 'NO_PROXY'", row: "47"},
	{what: "asks: no URL", in: "owners", old: "!(group == 'NO_PROXY' && variables.asking.exists(a, a.path == c.path)) &&", new: "", row: "42"},
	{what: "asks: its own list replaced", in: "additions", old: "c.asks ? dyn(variables.urls) : variables.given", new: "variables.given", row: "42"},
	{what: "asks: ours behind its own", in: "mutations", old: "/env/0", new: "/env/-", row: "42"},
	{what: "asks: not the other case of letters", in: "asking", old: "!c.env.exists(e, e.name == name)", new: "false", row: "42"},
	{what: "asks: the other case replaced", in: "asking", old: "!c.env.exists(e, e.name == name)", new: "true", row: "45"},
	{what: "asks: ours twice", in: "containers", old: "!c.?env.orValue([]).exists(e, e.name == 'FAIRLEAD_NO_PROXY')", new: "true", row: "54"},
	{what: "place: containers left out", in: "lists", old: "['containers', 'initContainers']", new: "['initContainers']"},
	{what: "place: init containers left out", in: "lists", old: "['containers', 'initContainers']", new: "['containers']"},
	{what: "place: native sidecars left out", in: "containers", old: "!(c.name in variables.settled)", new: "c.?restartPolicy.orValue('') != 'Always'"},
	{what: "selection: waits for nothing", in: "served", old: "!= 'false'", new: "== 'ignored'"},
	{what: "selection: host network not left out", in: "hostNetwork", old: "true", new: "false", pod: `hostNetwork: true`},
	{what: "selection: host network left out though it asks", in: "excluded", old: "variables.included ?", new: "variables.optIn && variables.included ?", pod: `hostNetwork: true`, namespace: "include"},
	{what: "selection: annotation exclude ignored", in: "excluded", old: "== 'exclude'", new: "== 'ignored'", pod: `annotations: {policies.kyverno.io/inject-proxy-env: exclude}`},
	{what: "selection: label exclude ignored", in: "objectSelector", old: "exclude", new: "ignored", pod: `labels: {policies.kyverno.io/inject-proxy-env: exclude}`},
	{what: "selection: namespace label exclude ignored", in: "namespaceSelector", old: "exclude", new: "ignored", namespace: "exclude"},
	{what: "selection: excluded namespaces ignored", in: "namespaceSelector", old: "-named", new: "-ignored", namespace: "named"},
	{what: "selection: excluded names ignored", in: "excluded", old: "variables.name.matches(variables.excludedNames.join('|'))", new: "false", pod: `name: capi-controller-manager-0`},
	{what: "selection: generateName not seen", in: "name", old: "object.metadata.?generateName.orValue('')", new: "''", pod: `generateName: capi-controller-manager-`},
	{what: "selection: excluded labels ignored", in: "excluded", old: ".matches('(?m)' + variables.excludedLabels.join('|'))", new: "== 'nothing'", pod: `labels: {cluster.x-k8s.io/provider: control-plane-k0sproject-k0smotron}`},
	{what: "selection: excluded label ignored by the API server", in: "objectSelector", old: "cluster-api", new: "ignored", pod: `labels: {cluster.x-k8s.io/provider: cluster-api}`},
	{what: "selection: excluded label of any value ignored", in: "objectSelector", old: "kamaji.clastix.io/name", new: "kamaji.clastix.io/ignored", pod: `{labels: {kamaji.clastix.io/name: tenant}, annotations: {policies.kyverno.io/inject-proxy-env: include}}`},
	{what: "selection: mirror pods not left alone", in: "excluded", old: "config.mirror", new: "config.nothing", pod: `annotations: {kubernetes.io/config.mirror: x}`},
	{what: "selection: include ignores exclude", in: "excluded", old: "variables.annotations[?variables.key].orValue('') == 'exclude'", new: "!variables.included && variables.annotations[?variables.key].orValue('') == 'exclude'", pod: `{labels: {policies.kyverno.io/inject-proxy-env: include}, annotations: {policies.kyverno.io/inject-proxy-env: exclude}}`},
	{what: "selection: optIn ignored", in: "excluded", old: "variables.optIn ?", new: "false ?", values: optIn},
	{what: "selection: annotation include ignored", in: "included", old: "[variables.annotations, variables.labels,", new: "[variables.labels,", values: optIn, pod: `annotations: {policies.kyverno.io/inject-proxy-env: include}`},
	{what: "selection: label include ignored", in: "included", old: "variables.labels, dyn(", new: "dyn(", values: optIn, pod: `labels: {policies.kyverno.io/inject-proxy-env: include}`},
	{what: "selection: namespace label include ignored", in: "included", old: ", dyn(namespaceObject.metadata.?labels.orValue({}))", new: "", values: optIn, namespace: "include"},
	{what: "selection: Palette's label ignored", in: "included", old: "== 'proxy'", new: "== 'nothing'", values: optIn, pod: `labels: {spectrocloud.com/connection: proxy}`},
	{what: "carry: another Secret", in: "entries", old: "fairlead-proxy", new: "proxy"},
	{what: "carry: another value", in: "entries", old: "3128", new: "8080", values: literal},
	{what: "carry: a key of the Secret for all", in: "entries", old: "'key': dyn(name)", new: "'key': dyn('HTTP_PROXY')"},
}

// tunnelFault is such a change of the policy for a family.
type tunnelFault struct {
	variant                         mutationtest.Variant
	family, what, in, old, new, row string
	onNode                          bool // the pod
}

var tunnelFaults = []tunnelFault{
	{variant: mutationtest.Led, family: mutationtest.Konnectivity, what: "empty values count", in: "agentsFound", old: "(e.?value.orValue('') != '' &&", new: "(true &&", row: "9"},
	{variant: mutationtest.Led, family: mutationtest.Konnectivity, what: "own values do not count", in: "additions", old: "name in c.own ||", new: "", row: "11"},
	{variant: mutationtest.Led, family: mutationtest.Konnectivity, what: "references do not count", in: "agentsFound", old: "has(e.valueFrom) ||", new: "", row: "12"},
	{variant: mutationtest.Led, family: mutationtest.Konnectivity, what: "envFrom does not count", in: "agentsFound", old: "variables.excludedSources.exists(", new: "false && variables.excludedSources.exists(", row: "21"},
	{variant: mutationtest.Led, family: mutationtest.Konnectivity, what: "what it does not read decides", in: "families", old: `"HTTPS_PROXY"`, new: `"HTTP_PROXY"`, row: "15"},
	{variant: mutationtest.Led, family: mutationtest.Konnectivity, what: "own NO_PROXY replaced", in: "additions", old: "e.name in c.family.reads ||", new: "true ||", row: "16"},
	{variant: mutationtest.Led, family: mutationtest.Konnectivity, what: "a second entry instead of another value", in: "mutations", old: "op: 'replace', path: a.path + '/' + string(i)", new: "op: 'add', path: a.path + '/-'", row: "9"},
	{variant: mutationtest.Led, family: mutationtest.Konnectivity, what: "the image's arguments replaced", in: "extensions", old: "c.line.exists(a, a.startsWith('--proxy-server-host'))", new: "true", row: "1"},
	{variant: mutationtest.Led, family: mutationtest.Konnectivity, what: "a second keepalive", in: "extensions", old: "given.startsWith(a[0] + '=')", new: "false", row: "7"},
	{variant: mutationtest.Led, family: mutationtest.Konnectivity, what: "a second keepalive in two arguments", in: "extensions", old: "given == a[0] ||", new: "", row: "8"},
	{variant: mutationtest.Led, family: mutationtest.Konnectivity, what: "another keepalive", in: "families", old: "30s", new: "1h", row: "2"},
	{variant: mutationtest.Led, family: mutationtest.ClusterProxy, what: "URLs without credentials count", in: "families", old: "dyn(true)", new: "dyn(false)", row: "25"},
	{variant: mutationtest.Led, family: mutationtest.ClusterProxy, what: "URLs with credentials do not", in: "agentsFound", old: "[^@]*$", new: ".*$", row: "27"},
	{variant: mutationtest.Led, family: mutationtest.Frpc, what: "frpc reads what others do", in: "families", old: `"http_proxy"`, new: `"http_proxy","HTTP_PROXY"`, row: "30"},
	{variant: mutationtest.Led, family: mutationtest.Frpc, what: "frpc has another row's reads", in: "families", old: `["http_proxy"]`, new: `["HTTPS_PROXY","https_proxy"]`, row: "29"},
	{variant: mutationtest.Led, family: "teleport", what: "others have frpc's reads", in: "families", old: `["HTTPS_PROXY","https_proxy"]`, new: `["http_proxy"]`, row: "35"},
	{variant: mutationtest.LedByRelayOfPods, family: mutationtest.Konnectivity, what: "machines ignored", in: "selected", old: "variables.machines ||", new: "true ||", row: "1", onNode: true},
	{variant: mutationtest.Relayed, family: mutationtest.Konnectivity, what: "the relay is last", in: "mutations", old: "/spec/initContainers/0", new: "/spec/initContainers/-", row: "22"},
	{variant: mutationtest.Relayed, family: mutationtest.Konnectivity, what: "addresses are pointed elsewhere", in: "relayed", old: "[0-9.]+|", new: "", row: "10"},
	{variant: mutationtest.Relayed, family: mutationtest.Konnectivity, what: "who decided is overruled", in: "aliases", old: "a.ip != '127.0.0.1'", new: "false", row: "20"},
	{variant: mutationtest.Relayed, family: mutationtest.Konnectivity, what: "the password stays", in: "settled", old: "'HTTPS_PROXY', ", new: "", row: "21"},
	{variant: mutationtest.Relayed, family: mutationtest.Konnectivity, what: "the first flag counts", in: "named", old: "found[size(found) - 1]", new: "found[size(found) > 1 ? 1 : 0]", row: "5"},
	{variant: mutationtest.Relayed, family: mutationtest.Konnectivity, what: "no sysctl", in: "opening", old: "< 1024", new: "< 1", row: "6"},
	{variant: mutationtest.Relayed, family: mutationtest.Konnectivity, what: "a sysctl on the host's network", in: "relayed", old: ">= 1024", new: ">= 1", row: "9"},
	{variant: mutationtest.Relayed, family: mutationtest.Konnectivity, what: "a relay for names of the cluster", in: "relayed", old: "|.+[.]svc([.]cluster[.]local)?", new: "", row: "28"},
	{variant: mutationtest.Relayed, family: mutationtest.Konnectivity, what: "all keys of the Secret", in: "mutations", old: "'key': 'HTTPS_PROXY', 'path': 'HTTPS_PROXY'", new: "'key': 'HTTP_PROXY', 'path': 'HTTPS_PROXY'", row: "1"},
	{variant: mutationtest.Relayed, family: mutationtest.Konnectivity, what: "the relay has the pod's token", in: "token", old: "/var/run/secrets/kubernetes.io/serviceaccount", new: "/nothing", row: "1"},
	{variant: mutationtest.Relayed, family: mutationtest.Konnectivity, what: "the relay does not know the list", in: "mutations", old: "'key': 'NO_PROXY', 'path': 'NO_PROXY'", new: "'key': 'no_proxy', 'path': 'no_proxy'", row: "1"},
	{variant: mutationtest.Relayed, family: mutationtest.Konnectivity, what: "upper case is no name", in: "named", old: ".lowerAscii()", new: "", row: "37"},
	{variant: mutationtest.Relayed, family: mutationtest.Konnectivity, what: "Windows pods get it", in: "selected", old: "'kubernetes.io/os'", new: "'nothing'", row: "40"},
	{variant: mutationtest.Relayed, family: mutationtest.Konnectivity, what: "own pull secrets are lost", in: "mutations", old: "'/spec/imagePullSecrets/-'", new: "'/spec/imagePullSecrets/0'", row: "41"},
	{variant: mutationtest.Relayed, family: mutationtest.Konnectivity, what: "the relay is root", in: "relay", old: "== 0 ?", new: "== -1 ?", row: "43"},
	{variant: mutationtest.Relayed, family: mutationtest.Konnectivity, what: "a number where the pod has another", in: "relay", old: "== 0 ?", new: "!= 1 ?", row: "44"},
	{variant: mutationtest.Relayed, family: mutationtest.ClusterProxy, what: "others lose their proxy", in: "settled", old: "n.path == c.path &&", new: "", row: "30"},
	{variant: mutationtest.Beside, family: mutationtest.Konnectivity, what: "references to our Secret count", in: "agentsFound", old: "!= 'fairlead-proxy'\n", new: "!= ''\n", row: "7"},
	{variant: mutationtest.Beside, family: mutationtest.Konnectivity, what: "the password stays in a source", in: "agentsFound", old: "prefix.orValue('') == '')", new: "prefix.orValue('') == 'x')", row: "8"},
	{variant: mutationtest.Beside, family: mutationtest.Konnectivity, what: "any port", in: "port", old: "int(p) >= 1024 &&", new: "", row: "12"},
	{variant: mutationtest.Beside, family: mutationtest.Konnectivity, what: "the machine's port", in: "port", old: "'3129'", new: "'3128'", row: "14"},
	{variant: mutationtest.Beside, family: mutationtest.Konnectivity, what: "the node's port for health", in: "health", old: "variables.onNode ?", new: "false ?", row: "14"},
	{variant: mutationtest.Beside, family: mutationtest.Konnectivity, what: "probes of others", in: "probes", old: "variables.onNode ?", new: "false ?", row: "14"},
	{variant: mutationtest.Beside, family: mutationtest.Konnectivity, what: "Windows pods get it", in: "able", old: "'kubernetes.io/os'", new: "'nothing'", row: "16"},
	{variant: mutationtest.Beside, family: mutationtest.Konnectivity, what: "it is last", in: "mutations", old: "/spec/initContainers/0", new: "/spec/initContainers/-", row: "19"},
	{variant: mutationtest.Beside, family: mutationtest.Konnectivity, what: "it is root", in: "relay", old: "== 0 ?", new: "== -1 ?", row: "31"},
	{variant: mutationtest.Beside, family: mutationtest.ClusterProxy, what: "URLs with credentials do not count", in: "agentsFound", old: "[^@]*$", new: ".*$", row: "22"},
	{variant: mutationtest.Beside, family: "chisel", what: "each place gets the flag", in: "led", old: "c.places[0]", new: "c.places[size(c.places) - 1]", row: "26"},
	{variant: mutationtest.Beside, family: "chisel", what: "own flags are doubled", in: "led", old: "a.startsWith('-')", new: "false", row: "27"},
}

// A row that did not notice would prove nothing.
func TestABrokenPolicyIsNoticedByARow(t *testing.T) {
	for _, f := range faults {
		t.Run(f.what, func(t *testing.T) {
			values := map[string]any{}
			must(t, yaml.Unmarshal([]byte(f.values), &values))
			values["exclude"] = map[string]any{"namespaces": []string{"a-named"}}
			whole := policiesOf(t, mutationtest.Variant{Values: values}, inject)[0]
			before, err := f.operations(t, whole)
			must(t, err)
			after, err := f.operations(t, changed(t, whole, f.in, f.old, f.new))
			if err == nil && reflect.DeepEqual(before, after) {
				t.Errorf("the pod gets the same: %v", before)
			}
		})
	}
}

func TestABrokenPolicyOfATunnelIsNoticedByARow(t *testing.T) {
	for _, f := range tunnelFaults {
		t.Run(f.what, func(t *testing.T) {
			v := f.variant
			v.Families = []string{f.family}
			rows := rowsOf(t, v)
			row := rows[slices.IndexFunc(rows, func(r mutationtest.Row) bool { return r.Number == f.row })]
			if f.onNode {
				row = row.OnNode()
			}
			broken := changed(t, policiesOf(t, v)[0], f.in, f.old, f.new)
			if diff := rowDifference(t, []*mutation.Policy{broken}, v, row, false); diff == "" {
				t.Error("the pod gets the same")
			}
		})
	}
}

// changed is a policy with another text in a place.
func changed(t *testing.T, policy *mutation.Policy, in, before, after string) *mutation.Policy {
	t.Helper()
	var object struct {
		Kind     string         `json:"kind"`
		Metadata map[string]any `json:"metadata"`
		Spec     struct {
			Constraints map[string]any   `json:"matchConstraints"`
			Variables   []map[string]any `json:"variables"`
			Mutations   []any            `json:"mutations"`
		} `json:"spec"`
	}
	must(t, yaml.Unmarshal(policy.Text, &object))
	place := object.Spec.Constraints[in]
	if in == "mutations" {
		place = object.Spec.Mutations
	}
	for _, v := range object.Spec.Variables {
		if v["name"] == in {
			place = v
		}
	}
	if replace(place, before, after) == 0 {
		t.Fatalf("nothing in %s says %q", in, before)
	}
	text, err := yaml.Marshal(object)
	must(t, err)
	broken, err := mutation.Read(text)
	must(t, err)
	return broken
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

// operations returns the changes that a policy makes to a pod that has the fault's row.
func (f fault) operations(t *testing.T, policy *mutation.Policy) ([]mutation.Operation, error) {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "a-" + f.namespace}}
	namespace.Labels = map[string]string{"kubernetes.io/metadata.name": namespace.Name}
	if f.namespace != "" && f.namespace != "named" {
		namespace.Labels["policies.kyverno.io/inject-proxy-env"] = f.namespace
	}
	_, operations, err := mutation.Run(t.Context(), []*mutation.Policy{policy}, given(t, f.given(t), namespace.Name), namespace)
	return operations, err
}

// given is a pod with the fault's row as a container of each kind.
func (f fault) given(t *testing.T) *corev1.Pod {
	t.Helper()
	table, err := os.ReadFile(filepath.Join(decisions, inject+".md"))
	must(t, err)
	number := cmp.Or(f.row, "1")
	cell := regexp.MustCompile("(?m)^\\| " + number + " \\| `(.*?)` \\|").FindSubmatch(table)
	if cell == nil {
		t.Fatalf("the table has no row %s", number)
	}
	has := struct {
		metav1.ObjectMeta `json:",inline"`
		HostNetwork       bool `json:"hostNetwork"`
	}{}
	must(t, yaml.UnmarshalStrict([]byte(f.pod), &has))
	one := corev1.Container{Image: "registry.example/web:1"}
	must(t, yaml.UnmarshalStrict(cell[1], &one))
	ordinary, first, sidecar := one, one, one
	ordinary.Name, first.Name, sidecar.Name = "ordinary", "first", "sidecar"
	sidecar.RestartPolicy = new(corev1.ContainerRestartPolicyAlways)
	return &corev1.Pod{ObjectMeta: has.ObjectMeta, Spec: corev1.PodSpec{
		HostNetwork: has.HostNetwork, Containers: []corev1.Container{ordinary}, InitContainers: []corev1.Container{first, sidecar},
	}}
}
