package cutoff

import (
	"bytes"
	"log/slog"
	"net/netip"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/core/render"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/noproxy"
)

// Both are lines as the relay's loggers write them.
func TestTheAccessLogIsRead(t *testing.T) {
	want := Request{"shop", "web.example", "443"}
	var text bytes.Buffer
	write := func(handler slog.Handler) {
		slog.New(handler).Info("access", "namespace", "shop", "method", "CONNECT", "host", "web.example", "port", "443", "decision", "direct", "status", 200)
		slog.New(handler).Info("the settings changed", "host", "web.example")
	}
	write(slog.NewTextHandler(&text, nil))
	write(slog.NewJSONHandler(&text, nil))
	var got []Request
	for line := range strings.Lines(text.String()) {
		if r, ok := ParseRequest("[pod/fairlead-relay-x/relay] " + line); ok {
			got = append(got, r)
		}
	}
	if !cmp.Equal(got, []Request{want, want}) {
		t.Errorf("it reads %+v of\n%s", got, text.String())
	}
	for _, other := range []string{"", "{", `{"msg":"access"`, "msg=access host=", "at=1 msg=other host=x"} {
		if r, ok := ParseRequest(other); ok {
			t.Errorf("%q is %+v", other, r)
		}
	}
}

func effective(t *testing.T) resolve.Effective {
	t.Helper()
	e := resolve.Effective{Mode: resolve.ModeProxied}
	for layer, text := range map[noproxy.Layer]string{
		noproxy.LayerInstallation: "172.16.0.0/16,192.0.2.1:8443,example.com,.internal.example", noproxy.LayerServiceDomain: ".cluster.local", noproxy.LayerBuiltin: ".svc,localhost",
	} {
		list, err := noproxy.ParseList(text, noproxy.Source{Layer: layer})
		if err != nil {
			t.Fatal(err)
		}
		e.NoProxy.Any = append(e.NoProxy.Any, list...)
	}
	return e
}

func TestWhoGoesAroundTheProxyIsCutOff(t *testing.T) {
	for destination, why := range map[string]string{
		"registry.example:443":        "", // through the proxy
		"203.0.113.1:443":             "",
		"172.16.3.4:80":               "",
		"192.0.2.1:8443":              "",
		"192.0.2.1:443":               "", // through the proxy
		"web.shop.svc:80":             "",
		"api.shop.svc.cluster.local:": "",
		"localhost:1":                 "",
		"www.example.com:443":         "NO_PROXY has the name example.com, and a NetworkPolicy has addresses alone",
		"git.internal.example:443":    "NO_PROXY has the name .internal.example, and a NetworkPolicy has addresses alone",
	} {
		host, port, _ := strings.Cut(destination, ":")
		rows := Requests(effective(t), render.Egress{Proxy: []netip.Prefix{}}, []Request{{"shop", host, port}, {"shop", host, port}})
		var want []Row
		if why != "" {
			want = []Row{{"shop", "clients of fairlead-relay", destination, why, 2}}
		}
		if !cmp.Equal(rows, want) {
			t.Errorf("%s: %+v, want %+v", destination, rows, want)
		}
	}
}

func TestPodsThatLackTheSettingsAreCutOff(t *testing.T) {
	const (
		none     = "container a: has none of HTTP_PROXY, HTTPS_PROXY and NO_PROXY. Replace the pod"
		password = "container b: has a password in HTTP_PROXY, for all to read"
		refers   = "container c: refers to the Secret fairlead-proxy, whose copies nobody renews any more: replace the pod"
	)
	results := []Result{
		{"shop", "web-1", auditEnv, "fail", none + "; " + password},
		{"shop", "web-1", auditEnv, "fail", none},
		{"shop", "web-2", auditEnv, "pass", none},
		{"shop", "web-3", "another", "fail", none},
		{"shop", "java", auditUnreached, "fail", "container a: Java does not read HTTP_PROXY"},
		{"shop", "old", auditEnv, "fail", refers},
	}
	want := []Row{{"shop", "Pod/java", outside, "container a: Java does not read HTTP_PROXY", 0}, {"shop", "Pod/web-1", outside, none, 0}}
	if got := Pods(render.Egress{}, results); !cmp.Equal(got, want) {
		t.Error(cmp.Diff(want, got))
	}
	if got := Pods(render.Egress{RelayNamespace: "fairlead-system"}, results); len(got) != 3 || got[1].Client != "Pod/old" {
		t.Errorf("%+v", got)
	}
}

// The findings are recognised by what the policies write.
func TestTheAuditStillSaysThat(t *testing.T) {
	for name, texts := range map[string][]string{
		auditEnv: {"name: " + auditEnv, "has none of HTTP_PROXY", "refers to the Secret fairlead-proxy"}, auditUnreached: {"name: " + auditUnreached},
	} {
		policy, err := os.ReadFile("../../../policies/audit-proxy-env/" + name + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range texts {
			if !strings.Contains(string(policy), text) {
				t.Errorf("%s does not say %q any more", name, text)
			}
		}
	}
}
