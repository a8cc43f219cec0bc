package noproxy_test

import (
	"testing"

	"github.com/fairlead-io/fairlead/noproxy"
)

func TestATenantMayNotOpenTheInternet(t *testing.T) {
	for name, test := range map[string]struct {
		token string
		broad bool
	}{
		"everything":                                      {"*", true},
		"every IPv4 address":                              {"0.0.0.0/0", true},
		"every IPv4 address, mapped":                      {"::ffff:0:0/96", true},
		"half of them":                                    {"0.0.0.0/1", true},
		"a public /8":                                     {"8.0.0.0/8", true},
		"a public /15":                                    {"8.8.0.0/15", true},
		"a public /16":                                    {"8.8.0.0/16", false},
		"a public address":                                {"8.8.8.8", false},
		"10/8":                                            {"10.0.0.0/8", false},
		"a part of 10/8":                                  {"10.128.0.0/9", false},
		"more than 10/8":                                  {"10.0.0.0/7", true},
		"172.16/12":                                       {"172.16.0.0/12", false},
		"more than 172.16/12":                             {"172.0.0.0/8", true},
		"192.168/16":                                      {"192.168.0.0/16", false},
		"100.64/10":                                       {"100.64.0.0/10", false},
		"more than 100.64/10":                             {"100.0.0.0/8", true},
		"link-local":                                      {"169.254.0.0/16", false},
		"loopback":                                        {"127.0.0.0/8", false},
		"every IPv6 address":                              {"::/0", true},
		"the global IPv6 addresses":                       {"2000::/3", true},
		"a provider's IPv6 network":                       {"2001:db8::/31", true},
		"one IPv6 allocation":                             {"2001:db8::/32", false},
		"unique local addresses":                          {"fc00::/7", false},
		"more than the unique local addresses":            {"f800::/5", true},
		"IPv6 link-local":                                 {"fe80::/10", false},
		"all of IPv4 through NAT64":                       {"64:ff9b::/96", true},
		"more than all of IPv4 through NAT64":             {"64:ff9b::/64", true},
		"a public IPv4 /15 through NAT64":                 {"64:ff9b::808:0/111", true},
		"a public IPv4 /16 through NAT64":                 {"64:ff9b::808:0/112", false},
		"10/8 through NAT64":                              {"64:ff9b::a00:0/104", false},
		"the NAT64 networks of one's own":                 {"64:ff9b:1::/48", true},
		"a part of them":                                  {"64:ff9b:1:8000::/49", true},
		"one of them":                                     {"64:ff9b:1:2::/96", true},
		"a public IPv4 /15 through one of them":           {"64:ff9b:1:2::808:0/111", true},
		"10/8 through one of them":                        {"64:ff9b:1:2::a00:0/104", false},
		"all of IPv4, mapped, and more":                   {"::/64", true},
		"a part of that":                                  {"::/80", true},
		"all of IPv4-compatible IPv6":                     {"::/96", true},
		"all of IPv4, translated":                         {"0:0:0:0:ffff::/80", true},
		"nothing of IPv4":                                 {"0:0:0:1::/64", false},
		"the unspecified and the loopback address":        {"::/127", false},
		"a top-level domain":                              {"com", true},
		"a top-level domain with a dot":                   {".com", true},
		"a top-level domain with a star":                  {"*.com", true},
		"a top-level domain with a final dot":             {"com.", true},
		"a top-level domain in capitals":                  {"COM", true},
		"a top-level domain with a port":                  {"com:443", true},
		"a country's second level":                        {"co.uk", true},
		"a second level by wildcard":                      {"anything.ck", true},
		"an internationalized top-level domain":           {"рф", true},
		"a suffix under which a company lets out names":   {"github.io", true},
		"a registered name":                               {"example.com", false},
		"the names below a registered name":               {".example.com", false},
		"a name let out by a company":                     {"acme.github.io", false},
		"the domain of Kubernetes services":               {"svc", false},
		"a private top-level domain":                      {"internal", false},
		"a name below a private top-level domain":         {"corp.internal", false},
		"the domain of a cluster":                         {"cluster.local", false},
		"the short name of this machine":                  {"localhost", false},
		"an address written as an IPv6 network of one":    {"2001:db8::1/128", false},
		"a wide network that only looks private by octet": {"192.0.0.0/8", true},
	} {
		t.Run(name, func(t *testing.T) {
			entry, err := noproxy.Parse(test.token)
			if err != nil {
				t.Fatal(err)
			}
			if why := noproxy.TooBroad(entry); (why != "") != test.broad {
				t.Errorf("%q is too broad: %q", test.token, why)
			}
		})
	}
}
