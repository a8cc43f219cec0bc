package egress_test

import (
	"net/netip"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/core/egress"
)

func TestADestinationHasOneSpelling(t *testing.T) {
	for text, want := range map[string]string{
		"Example.COM:443":        "example.com:443",
		"example.com.:443":       "example.com:443",
		"example.com":            "example.com:80",
		"backend":                "backend:80",
		"my_db.shop:5432":        "my_db.shop:5432",
		"bücher.example:443":     "xn--bcher-kva.example:443",
		"192.0.2.1:443":          "192.0.2.1:443",
		"[2001:DB8::1]:443":      "[2001:db8::1]:443",
		"[::ffff:192.0.2.1]:443": "192.0.2.1:443",
		"0x7f.example:443":       "0x7f.example:443",

		"":                                       "BadRequest",
		":443":                                   "BadRequest",
		"a:b:443":                                "BadRequest",
		"example.com:":                           "BadRequest",
		"example.com:0":                          "BadRequest",
		"example.com:65536":                      "BadRequest",
		"example.com:+443":                       "BadRequest",
		"example.com:4 43":                       "BadRequest",
		"me:secret@example.com:443":              "BadRequest",
		"example.com/x:443":                      "BadRequest",
		"*.example.com:443":                      "BadRequest",
		"a..b:443":                               "BadRequest",
		strings.Repeat("a", 64) + ".example:443": "BadRequest",
		"[2001:db8::1":                           "BadRequest",
		"[2001:db8::1]443":                       "BadRequest",
		"2001:db8::1:443":                        "BadRequest",

		"0177.0.0.1:443":     "OddAddress",
		"127.1:443":          "OddAddress",
		"2130706433:443":     "OddAddress",
		"0x7f000001:443":     "OddAddress",
		"0x7f.0.0.0x1:443":   "OddAddress",
		"127.0.0.1.:443":     "OddAddress",
		"127.0.0.01:443":     "OddAddress",
		"[fe80::1%eth0]:443": "OddAddress",
		"[127.0.0.1]:443":    "OddAddress",
		"[example.com]:443":  "OddAddress",
		"１２７.0.0.1:443":      "OddAddress",
	} {
		d, refusal := egress.ParseDestination(text, 80)
		got := d.String()
		if refusal != nil {
			got = string(refusal.Reason)
		}
		if got != want {
			t.Errorf("%q: %s (%v), want %s", text, got, refusal, want)
		}
	}
	if _, refusal := egress.ParseDestination("example.com", 0); refusal == nil || refusal.Reason != egress.BadRequest {
		t.Errorf("a CONNECT without a port: %v", refusal)
	}
}

func TestNobodyReachesTheseAddressesHoweverTheyAreDisguised(t *testing.T) {
	denied := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/24"), netip.MustParsePrefix("100.64.0.1/32"), netip.MustParsePrefix("2001:db8:1::/64"), netip.MustParsePrefix("64:ff9b::5db8:d900/120")}
	for text, want := range map[string]egress.Reason{
		"10.1.2.3": "", "93.184.216.34": "", "2001:db8::1": "", "fd00:ec2::1": "", "64:ff9b::5db8:d822": "",
		"127.0.0.1": egress.Loopback, "127.8.8.8": egress.Loopback, "::1": egress.Loopback, "::ffff:127.0.0.1": egress.Loopback,
		"64:ff9b::7f00:1": egress.Loopback, "64:ff9b:1::7f00:1": egress.Loopback, "2002:7f00:1::": egress.Loopback, "::7f00:1": egress.Loopback,
		"2001:0:1:2:3:4:80ff:fffe": egress.Loopback, // Teredo
		"169.254.1.1":              egress.LinkLocal, "fe80::1": egress.LinkLocal, "64:ff9b::a9fe:101": egress.LinkLocal,
		"169.254.169.254": egress.Metadata, "168.63.129.16": egress.Metadata, "100.100.100.200": egress.Metadata, "fd00:ec2::254": egress.Metadata,
		"192.0.0.192": egress.Metadata, "fd00:c1::a9fe:a9fe": egress.Metadata, "::ffff:0:169.254.169.254": egress.Metadata,
		"64:ff9b:1::a9fe:a9fe": egress.Metadata, "64:ff9b:1:0:a9:fea9:fe00:0": egress.Metadata, "64:ff9b:1:a9:fe:a9fe::": egress.Metadata, "64:ff9b:1:a9fe:a9:fe00::": egress.Metadata,
		"64:ff9b:1::5db8:d822": "", "64:ff9b:1:0:5d:b8d8:2200:0": "", "64:ff9b:1:0:a:0:700:0": egress.Denied,
		"2001:db8:1::5": egress.Denied, "64:ff9b::5db8:d901": egress.Denied, // by itself
		"::ffff:169.254.169.254": egress.Metadata, "64:ff9b::a9fe:a9fe": egress.Metadata, "2002:a83f:8110::1": egress.Metadata,
		"0.0.0.0": egress.Special, "0.1.2.3": egress.Special, "::": egress.Special, "224.0.0.1": egress.Special, "ff02::1": egress.Special, "255.255.255.255": egress.Special,
		"10.0.0.7": egress.Denied, "100.64.0.1": egress.Denied, "64:ff9b::a00:7": egress.Denied,
	} {
		var got egress.Reason
		if refusal := egress.CheckAddress(netip.MustParseAddr(text), denied); refusal != nil {
			got = refusal.Reason
		}
		if got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// The NetworkPolicy holds if the relay errs.
func TestTheChartsNetworkPolicyHasTheSameMetadataServices(t *testing.T) {
	text, err := os.ReadFile("../../../charts/fairlead-policies/templates/relay-networkpolicy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, addr := range egress.MetadataAddresses {
		host := netip.PrefixFrom(addr, addr.BitLen()).String()
		if !addr.IsLinkLocalUnicast() && !strings.Contains(string(text), host) {
			t.Errorf("it does not except %s", host)
		}
	}
}

func TestWhereARequestGoes(t *testing.T) {
	closed := egress.Policy{Domain: "cluster.local", Denied: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/24")}}
	open := closed
	open.Direct = egress.Direct{
		Networks: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, Domains: []string{"corp.example"}, Namespaces: []string{"other", "shop"},
	}
	for _, row := range []struct {
		host      string
		namespace string
		listed    bool
		service   bool // the look-up finds it
		closed    string
		open      string
	}{
		{"github.com", "shop", false, false, "proxy github.com:80", "proxy github.com:80"},
		{"git.corp.example", "shop", true, false, "proxy git.corp.example:80", "direct git.corp.example:80"},
		{"corp.example", "", true, false, "proxy corp.example:80", "direct corp.example:80"},
		{"git.corp.example", "shop", false, false, "proxy git.corp.example:80", "proxy git.corp.example:80"},
		{"notcorp.example", "shop", true, false, "proxy notcorp.example:80", "proxy notcorp.example:80"},
		{"10.1.2.3", "", true, false, "proxy 10.1.2.3:80", "direct 10.1.2.3:80"},
		{"10.0.0.3", "", true, false, "Denied", "Denied"},
		{"backend", "shop", false, true, "ShortName", "direct backend.shop.svc.cluster.local:80"},
		{"backend", "else", false, true, "ShortName", "ShortName"},
		{"backend.other", "shop", false, true, "proxy backend.other:80", "proxy backend.other:80"},
		{"intranet", "shop", false, false, "proxy intranet:80", "proxy intranet:80"},
		{"intranet", "", false, false, "proxy intranet:80", "proxy intranet:80"},
		{"backend.other.svc", "shop", false, false, "ServiceName", "direct backend.other.svc.cluster.local:80"},
		{"backend.other.svc.cluster.local", "", true, true, "ServiceName", "direct backend.other.svc.cluster.local:80"},
		{"db-0.db.other.svc", "", true, true, "ServiceName", "direct db-0.db.other.svc.cluster.local:80"},
		{"kubernetes.default.svc", "shop", true, true, "Denied", "Denied"},
		{"kubernetes.default", "shop", false, true, "Denied", "Denied"},
		{"kubernetes", "default", false, true, "Denied", "Denied"},
		{"localhost", "shop", true, false, "Loopback", "Loopback"},
		{"a.localhost.", "shop", true, false, "Loopback", "Loopback"},
		{"metadata.google.internal", "shop", true, false, "Metadata", "Metadata"},
		{"169.254.169.254", "shop", true, false, "Metadata", "Metadata"},
		{"metadata", "shop", false, false, "Metadata", "Metadata"},
		{"metadata", "shop", false, true, "ShortName", "direct metadata.shop.svc.cluster.local:80"},
		{"localhost6.localdomain6", "shop", false, false, "Loopback", "Loopback"},
	} {
		d, refusal := egress.ParseDestination(row.host, 80)
		if refusal != nil {
			t.Fatal(refusal)
		}
		request := egress.Request{Destination: d, Namespace: row.namespace, Listed: row.listed, Service: row.service}
		for want, policy := range map[string]egress.Policy{"closed: " + row.closed: closed, "open: " + row.open: open} {
			name, want, _ := strings.Cut(want, ": ")
			if got := decided(policy, request); got != want {
				t.Errorf("%s: %s from %q (listed %t, Service %t): %s, want %s", name, row.host, row.namespace, row.listed, row.service, got, want)
			}
		}
	}
}

func decided(policy egress.Policy, request egress.Request) string {
	decision, refusal := policy.Decide(request)
	switch {
	case refusal != nil:
		return string(refusal.Reason)
	case decision.Direct:
		return "direct " + decision.Dial
	}
	return "proxy " + decision.Dial
}

func TestAShortNameIsToldWhatToWrite(t *testing.T) {
	d, _ := egress.ParseDestination("backend", 80)
	_, refusal := egress.Policy{Domain: "cluster.local"}.Decide(egress.Request{Destination: d, Namespace: "shop", Service: true})
	const want = "backend is the Service backend.shop.svc: no NO_PROXY can name it, so it came to the relay; write backend.shop.svc, which NO_PROXY covers"
	if refusal == nil || refusal.Text != want {
		t.Errorf("%v", refusal)
	}
}

func TestWhoMayAsk(t *testing.T) {
	policy := egress.Policy{Sources: []netip.Prefix{netip.MustParsePrefix("10.96.0.0/11")}}
	for client, want := range map[string]bool{"10.100.1.2": true, "::ffff:10.100.1.2": true, "192.0.2.1": false, "2001:db8::1": false} {
		if refusal := policy.CheckSource(netip.MustParseAddr(client)); (refusal == nil) != want {
			t.Errorf("%s: %v", client, refusal)
		}
	}
	if refusal := (egress.Policy{}).CheckSource(netip.MustParseAddr("192.0.2.1")); refusal != nil {
		t.Error(refusal)
	}
}

func FuzzParseDestination(f *testing.F) {
	for _, seed := range []string{"example.com:443", "[::1]:80", "127.1", "a.:1", "0x1:1", "[::ffff:1.2.3.4]:5", "%31:2"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, refusal := egress.ParseDestination(text, 80)
		if refusal != nil {
			return
		}
		again, refusal := egress.ParseDestination(d.String(), 0)
		if refusal != nil || again != d {
			t.Fatalf("%q is %s, which is %s (%v)", text, d, again, refusal)
		}
	})
}

func TestAPolicyIsReadStrictly(t *testing.T) {
	policy, err := egress.ParsePolicy([]byte(`
serviceDomain: cluster.local.
sources: [10.96.0.0/11, "2001:db8::/32"]
denied: [10.0.0.0/24, 100.64.0.1]
direct: {networks: [10.1.2.3/16], domains: [.Corp.example, git.lan], namespaces: [shop]}
`))
	want := egress.Policy{
		Domain:  "cluster.local",
		Sources: []netip.Prefix{netip.MustParsePrefix("10.96.0.0/11"), netip.MustParsePrefix("2001:db8::/32")},
		Denied:  []netip.Prefix{netip.MustParsePrefix("10.0.0.0/24"), netip.MustParsePrefix("100.64.0.1/32")},
		Direct: egress.Direct{
			Networks: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}, Domains: []string{"corp.example", "git.lan"}, Namespaces: []string{"shop"},
		},
	}
	if diff := cmp.Diff(want, policy, cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for text, want := range map[string]string{
		"sources: [10.0.0.0/33]":                     "sources[0]: ",
		"denied: [10.0.0.1, node.example]":           "denied[1]: ",
		"direct: {networks: [\"10.0.0.1:80\"]}":      "direct.networks[0]: ",
		"direct: {domains: [a.example, 10.0.0.0/8]}": "direct.domains[1]: ",
		"direct: {domains: [\"*\"]}":                 "direct.domains[0]: ",
		"directs: {}":                                "directs",
		"[]":                                         "cannot unmarshal",
	} {
		if _, err := egress.ParsePolicy([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
