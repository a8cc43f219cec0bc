package render

import (
	"errors"
	"net/netip"
	"strconv"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/noproxy"
)

func listOf(t *testing.T, layer noproxy.Layer, text string) noproxy.List {
	t.Helper()
	list, err := noproxy.ParseList(text, noproxy.Source{Layer: layer})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// egressPolicy is as much of a NetworkPolicy as there may be. e2e/egress has a real API server take one.
type egressPolicy struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Metadata   map[string]any `json:"metadata"`
	Spec       struct {
		PodSelector map[string]any `json:"podSelector"`
		PolicyTypes []string       `json:"policyTypes"`
		Egress      []struct {
			To []struct {
				IPBlock *struct {
					CIDR string `json:"cidr"`
				} `json:"ipBlock"`
				NamespaceSelector selector  `json:"namespaceSelector"`
				PodSelector       *selector `json:"podSelector"`
			} `json:"to"`
			Ports []struct {
				Port     int    `json:"port"`
				Protocol string `json:"protocol"`
			} `json:"ports"`
		} `json:"egress"`
	} `json:"spec"`
}

type selector struct {
	MatchLabels map[string]string `json:"matchLabels"`
}

// egressOf returns the policy's egress in short: what a rule allows, and its ports.
func egressOf(t *testing.T, text []byte) string {
	t.Helper()
	var policy egressPolicy
	if err := yaml.UnmarshalStrict(text, &policy); err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
	var rules []string
	for _, rule := range policy.Spec.Egress {
		var parts []string
		for _, to := range rule.To {
			switch {
			case to.IPBlock != nil:
				parts = append(parts, to.IPBlock.CIDR)
			case to.PodSelector != nil:
				parts = append(parts, "pods "+to.PodSelector.MatchLabels["app.kubernetes.io/component"]+" in "+to.NamespaceSelector.MatchLabels["kubernetes.io/metadata.name"])
			default:
				parts = append(parts, "all pods")
			}
		}
		for _, p := range rule.Ports {
			parts = append(parts, ":"+strconv.Itoa(p.Port)+p.Protocol)
		}
		rules = append(rules, strings.Join(parts, " "))
	}
	return strings.Join(rules, "; ")
}

func TestTheNetworkPolicyAllowsWhatTheListCoversAndTheProxy(t *testing.T) {
	const dns = ":53UDP :53TCP; "
	address := []netip.Prefix{netip.MustParsePrefix("10.9.0.0/29")}
	for name, test := range map[string]struct {
		list, pods, proxy string
		egress            Egress
		want              string
		names             string
	}{
		"addresses":         {"172.16.0.0/16,192.0.2.1", "100.96.0.0/11", "http://192.168.52.220:3128", Egress{}, dns + "all pods; 172.16.0.0/16 192.0.2.1/32 100.96.0.0/11; 192.168.52.220/32 :3128TCP", ""},
		"IPv6":              {"2001:db8::/32,2001:db8:1::1", "fd00:10::/64", "http://[fd00::5]:3128", Egress{}, dns + "all pods; 2001:db8::/32 fd00:10::/64; fd00::5/128 :3128TCP", ""},
		"ports":             {"192.0.2.1:8443,192.0.2.2:8443,192.0.2.3", "", "http://10.0.0.1:80", Egress{}, dns + "192.0.2.3/32; 192.0.2.1/32 192.0.2.2/32 :8443TCP; 10.0.0.1/32 :80TCP", ""},
		"a port within":     {"192.0.2.0/24,192.0.2.1:8443", "", "http://10.0.0.1:80", Egress{}, dns + "192.0.2.0/24; 10.0.0.1/32 :80TCP", ""},
		"everything":        {"*", "100.96.0.0/11", "http://proxy.example:3128", Egress{}, "", ""},
		"loopback":          {"127.0.0.1,::1,192.0.2.1", "", "http://10.0.0.1:80", Egress{}, dns + "192.0.2.1/32; 10.0.0.1/32 :80TCP", ""},
		"names":             {"example.com,.example.com,.internal.example,web.example:8443,192.0.2.1", "", "http://10.0.0.1:80", Egress{}, dns + "192.0.2.1/32; 10.0.0.1/32 :80TCP", "example.com .internal.example web.example:8443"},
		"a proxy's name":    {"192.0.2.1", "", "http://proxy.example:3128", Egress{Proxy: address}, dns + "192.0.2.1/32; 10.9.0.0/29 :3128TCP", ""},
		"the relay":         {"192.0.2.1", "", "http://proxy.example:3128", Egress{RelayNamespace: "fairlead-system"}, dns + "192.0.2.1/32; pods relay in fairlead-system :3128TCP", ""},
		"what is asked for": {"192.0.2.1", "", "http://10.0.0.1:80", Egress{Allow: address}, dns + "10.9.0.0/29 192.0.2.1/32; 10.0.0.1/32 :80TCP", ""},
	} {
		t.Run(name, func(t *testing.T) {
			e := effective(t, "")
			e.HTTP = parsed(t, test.proxy)
			e.HTTPS = e.HTTP
			e.NoProxy.Any = listOf(t, noproxy.LayerInstallation, test.list)
			if test.pods != "" {
				e.NoProxy.Any = append(e.NoProxy.Any, listOf(t, noproxy.LayerPodCIDR, test.pods)...)
			}
			e.NoProxy.Any = append(e.NoProxy.Any, listOf(t, noproxy.LayerServiceDomain, "cluster.local,localhost")...)
			text, err := NetworkPolicy(e, test.egress, "shop", map[string]any{})
			if err != nil {
				t.Fatal(err)
			}
			if got := egressOf(t, text); got != test.want {
				t.Errorf("it allows\n%s\nwant\n%s", got, test.want)
			}
			warnings := strings.Join(NetworkPolicyWarnings(e, test.egress), "\n")
			for name := range strings.FieldsSeq(test.names) {
				if !strings.Contains(warnings, "the name "+name+",") || !strings.Contains(string(text), "alone: "+name+"\n") {
					t.Errorf("%s is dropped without a word: %s\n%s", name, warnings, text)
				}
			}
			if strings.Count(warnings, "the name ") != len(strings.Fields(test.names)) {
				t.Error(warnings)
			}
		})
	}
}

func TestWhatCannotBeANetworkPolicySaysWhy(t *testing.T) {
	e := effective(t, "x.example")
	if _, err := NetworkPolicy(e, Egress{}, "", nil); err == nil || !strings.Contains(err.Error(), "name proxy.example, and a NetworkPolicy has addresses alone: give its addresses or network with --proxy-address") {
		t.Error(err)
	}
	e.HTTP = parsed(t, "http://u:S3CRET@10.0.0.1:3128")
	e.HTTPS = e.HTTP
	text, err := NetworkPolicy(e, Egress{}, "", nil)
	if err != nil || strings.Contains(string(text), "S3CRET") {
		t.Errorf("%v: %s", err, text)
	}
	e.HTTP = parsed(t, "http://10.0.0.1:3128").WithoutCredentials()
	e.HTTPS = resolve.Effective{}.HTTPS
	if warnings := strings.Join(NetworkPolicyWarnings(e, Egress{}), "\n"); !strings.Contains(warnings, "no proxy is set for https URLs") {
		t.Error(warnings)
	}
	e.Mode = resolve.ModeDirect
	if _, err := NetworkPolicy(e, Egress{}, "", nil); err == nil || !strings.Contains(err.Error(), "the mode of the cluster is Direct") {
		t.Error(err)
	}
}

func TestNetworkPoliciesOfSeveralSelectorsDoNotReplaceEachOther(t *testing.T) {
	e, names := effective(t, ""), map[string]bool{}
	e.HTTP = parsed(t, "http://10.0.0.1:3128")
	e.HTTPS = e.HTTP
	for _, selector := range []any{map[string]any{}, map[string]any{"matchLabels": map[string]string{"app": "web"}}, map[string]any{"matchLabels": map[string]string{"app": "api"}}} {
		text, err := NetworkPolicy(e, Egress{}, "", selector)
		var policy struct{ Metadata struct{ Name string } }
		if err := errors.Join(err, yaml.Unmarshal(text, &policy)); err != nil {
			t.Fatal(err)
		}
		names[policy.Metadata.Name] = true
	}
	if len(names) != 3 || !names["fairlead-egress"] {
		t.Errorf("%v", names)
	}
}
