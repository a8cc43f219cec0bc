package noproxy_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/noproxy"
)

var comparePrefixes = cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })

func addr(text string, port uint16) noproxy.Entry {
	a := netip.MustParseAddr(text)
	return noproxy.Entry{Kind: noproxy.Addr, Prefix: netip.PrefixFrom(a, a.BitLen()), Port: port}
}

func network(text string) noproxy.Entry {
	return noproxy.Entry{Kind: noproxy.CIDR, Prefix: netip.MustParsePrefix(text)}
}

func TestEveryAcceptedFormMeansOneThingAndIsWrittenInOneWay(t *testing.T) {
	domain := noproxy.Entry{Kind: noproxy.Domain, Name: "example.com"}
	subdomains := noproxy.Entry{Kind: noproxy.Subdomains, Name: "example.com"}
	long := strings.Repeat("a", 63) + "." + strings.Repeat("b", 63) + "." + strings.Repeat("c", 63) + "." + strings.Repeat("d", 61)

	for name, test := range map[string]struct {
		token string
		want  noproxy.Entry
		text  string
	}{
		"a name":                                      {"example.com", domain, "example.com"},
		"a name in capitals":                          {"EXAMPLE.Com", domain, "example.com"},
		"a name with blanks around it":                {" \texample.com\n", domain, "example.com"},
		"a name of one label":                         {"svc", noproxy.Entry{Kind: noproxy.Domain, Name: "svc"}, "svc"},
		"a name with a hyphen and digits":             {"a-1.3com", noproxy.Entry{Kind: noproxy.Domain, Name: "a-1.3com"}, "a-1.3com"},
		"a name with an underscore":                   {"my_app.example", noproxy.Entry{Kind: noproxy.Domain, Name: "my_app.example"}, "my_app.example"},
		"a name of 253 characters":                    {long, noproxy.Entry{Kind: noproxy.Domain, Name: long}, long},
		"a name that starts like an address":          {"10.1.2.3-node.example", noproxy.Entry{Kind: noproxy.Domain, Name: "10.1.2.3-node.example"}, "10.1.2.3-node.example"},
		"a name with a port":                          {"example.com:8080", noproxy.Entry{Kind: noproxy.Domain, Name: "example.com", Port: 8080}, "example.com:8080"},
		"a name with a final dot":                     {"example.com.", noproxy.Entry{Kind: noproxy.Domain, Name: "example.com", Rooted: true}, "example.com."},
		"a name with a final dot and a port":          {"example.com.:1", noproxy.Entry{Kind: noproxy.Domain, Name: "example.com", Rooted: true, Port: 1}, "example.com.:1"},
		"a leading dot":                               {".example.com", subdomains, ".example.com"},
		"a leading star":                              {"*.example.com", subdomains, ".example.com"},
		"a leading dot and a port":                    {".example.com:65535", noproxy.Entry{Kind: noproxy.Subdomains, Name: "example.com", Port: 65535}, ".example.com:65535"},
		"a leading star and a final dot":              {"*.example.com.", noproxy.Entry{Kind: noproxy.Subdomains, Name: "example.com", Rooted: true}, ".example.com."},
		"a U-label":                                   {"bücher.example", noproxy.Entry{Kind: noproxy.Domain, Name: "xn--bcher-kva.example"}, "xn--bcher-kva.example"},
		"a U-label in capitals":                       {"BÜCHER.example", noproxy.Entry{Kind: noproxy.Domain, Name: "xn--bcher-kva.example"}, "xn--bcher-kva.example"},
		"a U-label with a sharp s, which is kept":     {"straße.example", noproxy.Entry{Kind: noproxy.Domain, Name: "xn--strae-oqa.example"}, "xn--strae-oqa.example"},
		"a U-label after a leading dot":               {".bücher.example", noproxy.Entry{Kind: noproxy.Subdomains, Name: "xn--bcher-kva.example"}, ".xn--bcher-kva.example"},
		"a U-label after a star":                      {"*.bücher.example", noproxy.Entry{Kind: noproxy.Subdomains, Name: "xn--bcher-kva.example"}, ".xn--bcher-kva.example"},
		"a U-label with a final dot and a port":       {"bücher.example.:80", noproxy.Entry{Kind: noproxy.Domain, Name: "xn--bcher-kva.example", Rooted: true, Port: 80}, "xn--bcher-kva.example.:80"},
		"an A-label":                                  {"xn--bcher-kva.example", noproxy.Entry{Kind: noproxy.Domain, Name: "xn--bcher-kva.example"}, "xn--bcher-kva.example"},
		"fullwidth letters and an ideographic stop":   {"ｅｘａｍｐｌｅ。ｃｏｍ", domain, "example.com"},
		"fullwidth digits":                            {"１０.1.2.3", addr("10.1.2.3", 0), "10.1.2.3"},
		"an IPv4 address":                             {"10.1.2.3", addr("10.1.2.3", 0), "10.1.2.3"},
		"an IPv4 address with a port":                 {"10.1.2.3:443", addr("10.1.2.3", 443), "10.1.2.3:443"},
		"an IPv4 network":                             {"10.0.0.0/8", network("10.0.0.0/8"), "10.0.0.0/8"},
		"an IPv4 network with host bits":              {"10.1.2.3/8", network("10.0.0.0/8"), "10.0.0.0/8"},
		"an IPv4 network of one address":              {"10.1.2.3/32", addr("10.1.2.3", 0), "10.1.2.3"},
		"every IPv4 address":                          {"0.0.0.0/0", network("0.0.0.0/0"), "0.0.0.0/0"},
		"an IPv6 address":                             {"::1", addr("::1", 0), "::1"},
		"an IPv6 address in full, with capitals":      {"2001:DB8:0:0:0:0:0:1", addr("2001:db8::1", 0), "2001:db8::1"},
		"an IPv6 address in brackets":                 {"[::1]", addr("::1", 0), "::1"},
		"an IPv6 address in brackets with a port":     {"[2001:db8::1]:8080", addr("2001:db8::1", 8080), "[2001:db8::1]:8080"},
		"an IPv6 address that ends like a port":       {"fd00::1:8080", addr("fd00::1:8080", 0), "fd00::1:8080"},
		"an IPv6 network":                             {"fd00::/8", network("fd00::/8"), "fd00::/8"},
		"an IPv6 network with host bits":              {"fd00::1/8", network("fd00::/8"), "fd00::/8"},
		"an IPv6 network in brackets":                 {"[fd00::]/8", network("fd00::/8"), "fd00::/8"},
		"an IPv6 network of one address":              {"::1/128", addr("::1", 0), "::1"},
		"an IPv4-mapped address":                      {"::ffff:10.1.2.3", addr("10.1.2.3", 0), "10.1.2.3"},
		"an IPv4-mapped address in brackets and port": {"[::ffff:10.1.2.3]:80", addr("10.1.2.3", 80), "10.1.2.3:80"},
		"an IPv4-mapped network":                      {"::ffff:10.1.2.3/104", network("10.0.0.0/8"), "10.0.0.0/8"},
		"every IPv4-mapped address":                   {"::ffff:0:0/96", network("0.0.0.0/0"), "0.0.0.0/0"},
		"a network wider than the mapped addresses":   {"::ffff:0:0/90", network("::ffc0:0:0/90"), "::ffc0:0:0/90"},
		"everything":                                  {"*", noproxy.Entry{Kind: noproxy.All}, "*"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := noproxy.Parse(test.token)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got, comparePrefixes); diff != "" {
				t.Errorf("entry (-want +got):\n%s", diff)
			}
			if got.String() != test.text {
				t.Errorf("written as %q, want %q", got.String(), test.text)
			}
			if again, err := noproxy.Parse(got.String()); err != nil || again != got {
				t.Errorf("%q is read back as %+v (%v)", got.String(), again, err)
			}
		})
	}
}

func TestAHostIsReadFromAControlPlaneEndpoint(t *testing.T) {
	for name, test := range map[string]struct {
		host, text string
		kind       noproxy.Kind
	}{
		"an address":              {"178.170.32.59", "178.170.32.59", noproxy.Addr},
		"an IPv6 address":         {"2001:DB8::1", "2001:db8::1", noproxy.Addr},
		"an IPv6 address in [..]": {"[2001:db8::1]", "2001:db8::1", noproxy.Addr},
		"a name":                  {"API.example.com", "api.example.com", noproxy.Host},
		"a name with final dot":   {"api.example.com.", "api.example.com.", noproxy.Host},
	} {
		t.Run(name, func(t *testing.T) {
			entry, err := noproxy.HostEntry(test.host)
			if err != nil {
				t.Fatal(err)
			}
			if entry.Kind != test.kind || entry.String() != test.text {
				t.Errorf("%q is kind %d, %q; want kind %d, %q", test.host, entry.Kind, entry, test.kind, test.text)
			}
		})
	}
}

func TestAListIsCutAtCommasAndLineEndsOnly(t *testing.T) {
	for name, test := range map[string]struct {
		list string
		want []string
	}{
		"nothing":                    {"", nil},
		"only separators":            {" ,\n, \r\n,", nil},
		"commas":                     {"a,b", []string{"a", "b"}},
		"blanks around entries":      {" a , b\t", []string{"a", "b"}},
		"lines":                      {"a\nb\r\nc\r", []string{"a", "b", "c"}},
		"empty elements":             {",a,,b,", []string{"a", "b"}},
		"a blank inside is not ours": {"a b,c", []string{"a b", "c"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, noproxy.Split(test.list)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
