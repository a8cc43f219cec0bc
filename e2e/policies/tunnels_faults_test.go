package policies_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/tier"
)

// tunnelFault is such a policy that somebody broke, and the row that must notice.
type tunnelFault struct {
	fault
	of     tunnelVariant
	family string
}

var tunnelFaults = []tunnelFault{
	{of: led, family: konnectivity, fault: fault{what: "empty values count", in: "agentsFound", old: "(e.?value.orValue('') != '' &&", new: "(true &&", row: "9"}},
	{of: led, family: konnectivity, fault: fault{what: "own values do not count", in: "additions", old: "name in c.own ||", new: "", row: "11"}},
	{of: led, family: konnectivity, fault: fault{what: "references do not count", in: "agentsFound", old: "has(e.valueFrom) ||", new: "", row: "12"}},
	{of: led, family: konnectivity, fault: fault{what: "envFrom does not count", in: "agentsFound", old: "variables.excludedSources.exists(", new: "false && variables.excludedSources.exists(", row: "21"}},
	{of: led, family: konnectivity, fault: fault{what: "what it does not read decides", in: "families", old: `"HTTPS_PROXY"`, new: `"HTTP_PROXY"`, row: "15"}},
	{of: led, family: konnectivity, fault: fault{what: "own NO_PROXY replaced", in: "additions", old: "e.name in c.family.reads ||", new: "true ||", row: "16"}},
	{of: led, family: konnectivity, fault: fault{what: "a second entry instead of another value", in: "mutations", old: "op: 'replace', path: a.path + '/' + string(i)", new: "op: 'add', path: a.path + '/-'", row: "9"}},
	{of: led, family: konnectivity, fault: fault{what: "the image's arguments replaced", in: "extensions", old: "c.line.exists(a, a.startsWith('--proxy-server-host'))", new: "true", row: "1"}},
	{of: led, family: konnectivity, fault: fault{what: "a second keepalive", in: "extensions", old: "given.startsWith(a[0] + '=')", new: "false", row: "7"}},
	{of: led, family: konnectivity, fault: fault{what: "a second keepalive in two arguments", in: "extensions", old: "given == a[0] ||", new: "", row: "8"}},
	{of: led, family: konnectivity, fault: fault{what: "another keepalive", in: "families", old: "30s", new: "1h", row: "2"}},
	{of: led, family: clusterProxy, fault: fault{what: "URLs without credentials count", in: "families", old: "dyn(true)", new: "dyn(false)", row: "25"}},
	{of: led, family: clusterProxy, fault: fault{what: "URLs with credentials do not", in: "agentsFound", old: "[^@]*$", new: ".*$", row: "27"}},
	{of: led, family: frpc, fault: fault{what: "frpc reads what others do", in: "families", old: `"http_proxy"`, new: `"http_proxy","HTTP_PROXY"`, row: "30"}},
	{of: led, family: frpc, fault: fault{what: "frpc has another row's reads", in: "families", old: `["http_proxy"]`, new: `["HTTPS_PROXY","https_proxy"]`, row: "29"}},
	{of: led, family: "teleport", fault: fault{what: "others have frpc's reads", in: "families", old: `["HTTPS_PROXY","https_proxy"]`, new: `["http_proxy"]`, row: "35"}},

	{of: relayed, family: konnectivity, fault: fault{what: "the relay is last", in: "mutations", old: "/spec/initContainers/0", new: "/spec/initContainers/-", row: "22"}},
	{of: relayed, family: konnectivity, fault: fault{what: "addresses are pointed elsewhere", in: "relayed", old: "[0-9.]+|", new: "", row: "10"}},
	{of: relayed, family: konnectivity, fault: fault{what: "who decided is overruled", in: "aliases", old: "a.ip != '127.0.0.1'", new: "false", row: "20"}},
	{of: relayed, family: konnectivity, fault: fault{what: "the password stays", in: "settled", old: "'HTTPS_PROXY', ", new: "", row: "21"}},
	{of: relayed, family: konnectivity, fault: fault{what: "the first flag counts", in: "named", old: "found[size(found) - 1]", new: "found[size(found) > 1 ? 1 : 0]", row: "5"}},
	{of: relayed, family: konnectivity, fault: fault{what: "no sysctl", in: "opening", old: "< 1024", new: "< 1", row: "6"}},
	{of: relayed, family: konnectivity, fault: fault{what: "a sysctl on the host's network", in: "relayed", old: ">= 1024", new: ">= 1", row: "9"}},
	{of: relayed, family: konnectivity, fault: fault{what: "a relay for names of the cluster", in: "relayed", old: "|.+[.]svc([.]cluster[.]local)?", new: "", row: "28"}},
	{of: relayed, family: konnectivity, fault: fault{what: "all keys of the Secret", in: "mutations", old: "'key': 'HTTPS_PROXY', 'path': 'HTTPS_PROXY'", new: "'key': 'HTTP_PROXY', 'path': 'HTTPS_PROXY'", row: "1"}},
	{of: relayed, family: konnectivity, fault: fault{what: "the relay has the pod's token", in: "token", old: "/var/run/secrets/kubernetes.io/serviceaccount", new: "/nothing", row: "1"}},
	{of: relayed, family: konnectivity, fault: fault{what: "the relay does not know the list", in: "mutations", old: "'key': 'NO_PROXY', 'path': 'NO_PROXY'", new: "'key': 'no_proxy', 'path': 'no_proxy'", row: "1"}},
	{of: relayed, family: konnectivity, fault: fault{what: "upper case is no name", in: "named", old: ".lowerAscii()", new: "", row: "37"}},
	{of: relayed, family: konnectivity, fault: fault{what: "Windows pods get it", in: "selected", old: "'kubernetes.io/os'", new: "'nothing'", row: "40"}},
	{of: relayed, family: konnectivity, fault: fault{what: "own pull secrets are lost", in: "mutations", old: "'/spec/imagePullSecrets/-'", new: "'/spec/imagePullSecrets/0'", row: "41"}},
	{of: relayed, family: konnectivity, fault: fault{what: "the relay is root", in: "relay", old: "== 0 ?", new: "== -1 ?", row: "43"}},
	{of: relayed, family: konnectivity, fault: fault{what: "a number where the pod has another", in: "relay", old: "== 0 ?", new: "!= 1 ?", row: "44"}},
	{of: relayed, family: clusterProxy, fault: fault{what: "others lose their proxy", in: "settled", old: "n.path == c.path &&", new: "", row: "30"}},

	{of: beside, family: konnectivity, fault: fault{what: "references to our Secret count", in: "agentsFound", old: "!= 'fairlead-proxy'\n", new: "!= ''\n", row: "7"}},
	{of: beside, family: konnectivity, fault: fault{what: "the password stays in a source", in: "agentsFound", old: "prefix.orValue('') == '')", new: "prefix.orValue('') == 'x')", row: "8"}},
	{of: beside, family: konnectivity, fault: fault{what: "any port", in: "port", old: "int(p) >= 1024 &&", new: "", row: "12"}},
	{of: beside, family: konnectivity, fault: fault{what: "the machine's port", in: "port", old: "'3129'", new: "'3128'", row: "14"}},
	{of: beside, family: konnectivity, fault: fault{what: "the node's port for health", in: "health", old: "variables.onNode ?", new: "false ?", row: "14"}},
	{of: beside, family: konnectivity, fault: fault{what: "probes of others", in: "probes", old: "variables.onNode ?", new: "false ?", row: "14"}},
	{of: beside, family: konnectivity, fault: fault{what: "Windows pods get it", in: "able", old: "'kubernetes.io/os'", new: "'nothing'", row: "16"}},
	{of: beside, family: konnectivity, fault: fault{what: "it is last", in: "mutations", old: "/spec/initContainers/0", new: "/spec/initContainers/-", row: "19"}},
	{of: beside, family: konnectivity, fault: fault{what: "it is root", in: "relay", old: "== 0 ?", new: "== -1 ?", row: "31"}},
	{of: beside, family: clusterProxy, fault: fault{what: "URLs with credentials do not count", in: "agentsFound", old: "[^@]*$", new: ".*$", row: "22"}},
	{of: beside, family: "chisel", fault: fault{what: "each place gets the flag", in: "led", old: "c.places[0]", new: "c.places[size(c.places) - 1]", row: "26"}},
	{of: beside, family: "chisel", fault: fault{what: "own flags are doubled", in: "led", old: "a.startsWith('-')", new: "false", row: "27"}},
}

// brokenTunnels has a variant for each of them.
func brokenTunnels() []tunnelVariant {
	var all []tunnelVariant
	for i, f := range tunnelFaults {
		v := f.of
		v.name, v.families, v.fault = fmt.Sprintf("tunnel-fault-%d", i), []string{f.family}, &f.fault
		all = append(all, v)
	}
	return all
}

func TestABrokenPolicyOfATunnelIsNoticed(t *testing.T) {
	tier.Full(t)
	e := tunnelEngines(t)[0]
	for i, v := range brokenTunnels() {
		t.Run(tunnelFaults[i].what, func(t *testing.T) {
			rows := mustTunnelRows(t, v.text)
			at := slices.IndexFunc(rows, func(r tunnelRow) bool { return r.number == v.fault.row && r.family == v.families[0] })
			diff, err := e.tunnelDifference(t.Context(), v, rows[at])
			controlplanetest.Require(t, err)
			if diff == "" {
				t.Error("nobody does")
			}
		})
	}
}
