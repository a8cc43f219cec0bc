package dialect_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/noproxy/dialect"
)

// What a measurement cannot ask: no address is known, or there are several.
func TestGRPCForGoDependsOnWhatANameResolvesTo(t *testing.T) {
	const proxy = "http://proxy.example:3128"
	for name, test := range map[string]struct {
		list, addrs string
		want        dialect.Route
	}{
		"a network may cover it":      {".corp.example,10.96.0.0/12", "", dialect.Depends},
		"an address may":              {".corp.example,10.96.0.1", "", dialect.Depends},
		"no entry is an address":      {".corp.example", "", dialect.Proxy},
		"everything is covered":       {"*", "", dialect.Direct},
		"covered":                     {".corp.example,10.96.0.0/12", "10.97.0.1", dialect.Direct},
		"not covered":                 {".corp.example,10.96.0.0/12", "10.90.1.7", dialect.Proxy},
		"one of two is":               {"10.96.0.0/12", "10.97.0.1 10.90.1.7", dialect.Depends},
		"loopback is never proxied":   {"", "127.0.0.1", dialect.Direct},
		"both of two are not covered": {"10.96.0.0/12", "10.90.1.8 10.90.1.7", dialect.Proxy},
	} {
		t.Run(name, func(t *testing.T) {
			client, err := dialect.Find("grpc-go")
			if err != nil {
				t.Fatal(err)
			}
			target, err := dialect.ParseTarget("https://otel.corp.example:4317")
			if err != nil {
				t.Fatal(err)
			}
			for _, text := range strings.Fields(test.addrs) {
				target.Addrs = append(target.Addrs, netip.MustParseAddr(text))
			}
			if got := client.At("1.67").Read(dialect.Uniform(proxy, proxy, test.list, ""))(target); got.Route != test.want {
				t.Errorf("%s (%s), want %s", got.Route, got.Reason, test.want)
			}
		})
	}
}

func TestAVersionThatIsNotKnownIsAnError(t *testing.T) {
	for _, test := range []struct {
		client, version string
		known           bool
	}{
		{"go", "1.27.3", true},
		{"go", "1.28", false},
		{"go", "2", false},
		{"grpc-go", "1.85.9", true},
		{"grpc-go", "1.86", false},
		{"dotnet", "11.0.2", true},
		{"dotnet", "12", false},
		{"client-go", "0.36.3", true},
		{"kubelet", "1.36.1", true},
		{"kubelet", "1.37", false},
		{"kubelet", "v1.36.3", true},
		{"client-go", "12.0.0+incompatible", true},
		{"client-go", "13.0", false},
		{"python-requests", "2.99", true},
		{"reqwest", "99", true},
		{"curl", "8.21.1", true},
		{"curl", "8.22", false},
		{"dotnet", "runtime@02a63a5", true},
	} {
		client, err := dialect.Find(test.client)
		if err != nil {
			t.Fatal(err)
		}
		if err := client.Check(test.version); (err == nil) != test.known {
			t.Errorf("%s %s: %v", test.client, test.version, err)
		}
	}
}

// Each version that is said to be measured, or that changed something, is one that Check knows.
func TestEveryKnownVersionPassesCheck(t *testing.T) {
	for _, choice := range dialect.All() {
		for _, version := range append(choice.Measured(), choice.Since) {
			if err := choice.Client.Check(version); err != nil {
				t.Error(err)
			}
		}
	}
}
