package upstream

import (
	"net/http"
	"testing"
)

func TestACauseIsAWordThatProxiesHaveInCommon(t *testing.T) {
	for _, test := range []struct{ name, value, want string }{
		{"X-Squid-Error", "ERR_DNS_FAIL 0", "ERR_DNS_FAIL"},
		{"X-Squid-Error", "ERR_ACCESS_DENIED", "ERR_ACCESS_DENIED"},
		{"X-Squid-Error", "S3CRET", ""},
		{"X-Squid-Error", "ERR_X/S3CRET", ""},
		{"Proxy-Status", `fairlead-relay; error=destination_unavailable; details="407"`, "fairlead-relay: 407"},
		{"Proxy-Status", `fairlead-relay; error=destination_unavailable; details="S3CRET S3CRET"`, "fairlead-relay: "},
		{"Proxy-Status", "proxy.example; received-status=503; error=dns_error", "dns_error"},
		{"Proxy-Status", `proxy.example; error="S3CRET"`, ""},
		{"Via", "1.1 proxy.example", ""},
	} {
		if got := Cause(http.Header{test.name: {test.value}}); got != test.want {
			t.Errorf("%s: %s: %q, want %q", test.name, test.value, got, test.want)
		}
	}
}
