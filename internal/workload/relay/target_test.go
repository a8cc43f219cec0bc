package relay

import (
	"strings"
	"testing"
)

func TestTargetsAreRefusedBeforeTheyAreConfused(t *testing.T) {
	for _, row := range []struct {
		texts []string
		want  string // of the targets, or the error
	}{
		{[]string{"Hub.Example.:8091", "[2001:DB8::1]:443", "203.0.113.20:6443"}, "hub.example:8091 [2001:db8::1]:443 203.0.113.20:6443"},
		{nil, "there is no target"},
		{[]string{"hub.example"}, `target "hub.example": it is not host:port`},
		{[]string{"2001:db8::1:443"}, "it is not host:port; an IPv6 address stands in brackets"},
		{[]string{"hub.example:0"}, "the port is not a number from 1 to 65535"},
		{[]string{"hub.example:65536"}, "the port is not"},
		{[]string{"hub.example:https"}, "the port is not"},
		{[]string{":443"}, "the host is neither"},
		{[]string{"*.example:443"}, "the host is neither"},
		{[]string{"https://hub.example:443"}, "it is not host:port"},
		{[]string{"a\r\nb:443"}, "the host is neither"},
		{[]string{"hub.example:443", "other.example:443"}, `target "other.example:443": port 443 is that of hub.example:443: both would be 127.0.0.1:443`},
		{[]string{"hub.example:8099"}, "port 8099 is that of the relay's own /healthz and /readyz"},
	} {
		targets, err := ParseTargets(row.texts)
		var got []string
		for _, target := range targets {
			got = append(got, target.String())
		}
		if text := strings.Join(got, " "); err == nil && text != row.want || err != nil && !strings.Contains(err.Error(), row.want) {
			t.Errorf("%q: %q (%v)", row.texts, text, err)
		}
	}
}
