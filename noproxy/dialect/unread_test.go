package dialect_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/noproxy/dialect"
)

// A client that no list moves says so, and not that no entry matches; one that no
// proxy moves does not say that its variables are not set.
func TestAClientThatReadsNoListOrNoVariableSaysSo(t *testing.T) {
	const proxy = "http://proxy.example:3128"
	for _, choice := range dialect.All() {
		reasons, proxied, listed := map[string]bool{}, false, false
		for _, url := range []string{"http://a.example", "https://a.example", "http://10.1.2.3"} {
			target, err := dialect.ParseTarget(url)
			if err != nil {
				t.Fatal(err)
			}
			without := choice.Read(dialect.Uniform(proxy, proxy, "", ""))(target)
			reasons[without.Reason] = true
			proxied = proxied || without.Route == dialect.Proxy
			for _, list := range []string{"*", "a.example", "10.1.2.3"} {
				listed = listed || choice.Read(dialect.Uniform(proxy, proxy, list, list))(target).Route != without.Route
			}
		}
		switch {
		case !proxied && !reasons["no proxy variable is read in this version"]:
			t.Errorf("%s reads no variable: %v", choice, reasons)
		case proxied && !listed && reasons[dialect.NoEntry]:
			t.Errorf("%s reads no list: %v", choice, reasons)
		}
	}
}

// The cause is the same whatever else the answer is about: with an address, without, and for a list of names alone.
func TestGRPCForGoSaysWhyANameOfTheListUsesTheProxy(t *testing.T) {
	const proxy = "http://proxy.example:3128"
	client, err := dialect.Find("grpc-go")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ list, addr, version, want string }{
		{".svc", "", "1.65", "list its network, or update to 1.71"},
		{".svc", "10.96.0.1", "1.65", "list its network, or update to 1.71"},
		{".svc,10.0.0.0/28", "10.96.0.1", "1.70", "list its network, or update to 1.71"},
		{".corp.example", "", "1.65", dialect.NoEntry},
		{".corp.example", "10.96.0.1", "1.65", dialect.NoEntry},
		{".corp.example", "", "1.71", dialect.NoEntry},
	} {
		target, err := dialect.ParseTarget("https://my.shop.svc:50051")
		if err != nil {
			t.Fatal(err)
		}
		if test.addr != "" {
			target.Addrs = []netip.Addr{netip.MustParseAddr(test.addr)}
		}
		got := client.At(test.version).Read(dialect.Uniform(proxy, proxy, test.list, ""))(target)
		if got.Route != dialect.Proxy || !strings.Contains(got.Reason, test.want) {
			t.Errorf("%+v: %s (%s)", test, got.Route, got.Reason)
		}
	}
}
