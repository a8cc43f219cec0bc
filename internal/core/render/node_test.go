package render_test

import (
	"encoding/base64"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/core/render"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/noproxy"
)

func TestEveryUnitHasADropInWithTheListThatItsProgramReads(t *testing.T) {
	e := example(t, func(e *resolve.Effective) {
		e.Node.Units = []string{"crio.service", "rke2-agent.service"}
		e.NoProxy = noproxy.Lists{Any: list("any.example"), Go: list("go.example")}
	})
	_, systemd := secrets(t, e)
	for key, want := range map[string]string{
		"containerdProxy": "go.example", "kubeletProxy": "go.example", "crioProxy": "any.example", "rke2-agentProxy": "any.example",
	} {
		if !strings.Contains(string(systemd.Data[key]), `Environment="no_proxy=`+want+`"`) {
			t.Errorf("%s lacks %s:\n%s", key, want, systemd.Data[key])
		}
	}
	if len(systemd.Data) != 4 {
		t.Errorf("%s", systemd)
	}
}

func TestEveryKeyHasATwinInBase64WhereTheyAreAskedFor(t *testing.T) {
	e := example(t, func(e *resolve.Effective) {
		e.Node.Units, e.Node.TrustedCA, e.Node.Base64Twins = []string{"crio.service"}, []byte("PEM"), true
	})
	_, systemd := secrets(t, e)
	want := []string{
		"containerdProxy", "containerdProxy.base64", "crioProxy", "crioProxy.base64",
		"kubeletProxy", "kubeletProxy.base64", "trustedCA", "trustedCA.base64",
	}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(systemd.Data))); diff != "" {
		t.Fatal(diff)
	}
	for _, key := range want {
		plain, twin := systemd.Data[key], systemd.Data[key+".base64"]
		if decoded, err := base64.StdEncoding.DecodeString(string(twin)); twin != nil && (err != nil || string(decoded) != string(plain)) {
			t.Errorf("%s: %v", key, err)
		}
	}
}

func TestMoreThanASecretHoldsIsAProblem(t *testing.T) {
	longest := strings.Repeat("x", render.MaxNoProxyBytes)
	secrets, err := render.Secrets(example(t, func(e *resolve.Effective) { e.NoProxy, e.Node.Base64Twins = lists(longest), true }))
	var p *resolve.Problem
	if !errors.As(err, &p) || p.Reason != resolve.ReasonTooLarge || len(secrets) != 0 || !strings.Contains(p.Error(), "mycluster-systemd-proxy") || !strings.Contains(p.Error(), "the trusted CA") {
		t.Errorf("%v (%v)", secrets, err)
	}
}
