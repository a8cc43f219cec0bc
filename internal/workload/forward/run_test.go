package forward

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
)

func TestTheNodeAndTheAPIServerAreDenied(t *testing.T) {
	env := map[string]string{"KUBERNETES_SERVICE_HOST": "10.96.0.1", "HOST_IPS": "192.168.1.7, fd00::7"}
	denied, err := deniedHere([]netip.Prefix{netip.MustParsePrefix("172.16.0.0/12")}, func(name string) string { return env[name] })
	if got := fmt.Sprint(denied); err != nil || got != "[172.16.0.0/12 10.96.0.1/32 192.168.1.7/32 fd00::7/128]" {
		t.Errorf("%s, %v", got, err)
	}
	env["HOST_IPS"] = "node-a"
	if _, err := deniedHere(nil, func(name string) string { return env[name] }); err == nil || !strings.Contains(err.Error(), "HOST_IPS") {
		t.Error(err)
	}
}
