package render

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/core/resolve"
)

// Names and keys are written out here, so that a renamed one fails.
func TestThePodSecretAlwaysHasAllSixKeys(t *testing.T) {
	e := effective(t, "any.example")
	e.NoProxy.Go = effective(t, "go.example").NoProxy.Go
	e.Node.TrustedCA = []byte("PEM")
	for mode, e := range map[string]resolve.Effective{"Proxied": e, "Direct": {Mode: resolve.ModeDirect}} {
		s := PodSecret(e)
		keys := "HTTPS_PROXY HTTP_PROXY NO_PROXY ca.crt http_proxy https_proxy no_proxy"
		if got := PodConfigMap(e); got.Name != "fairlead-trusted-ca" || got.Labels["fairlead.io/configmap"] != "trusted-ca" || got.Data["ca.crt"] != string(e.Node.TrustedCA) {
			t.Errorf("%s: %v", mode, got)
		}
		list := "any.example"
		if mode == "Direct" {
			keys, list = strings.Replace(keys, "ca.crt ", "", 1), ""
		}
		got := strings.Join(slices.Sorted(maps.Keys(s.Data)), " ")
		if diff := cmp.Diff(keys, got); diff != "" || s.Name != "fairlead-proxy" || s.Labels["fairlead.io/secret"] != "proxy" {
			t.Errorf("%s: %s\n%s", mode, s, diff)
		}
		if string(s.Data["no_proxy"]) != list || string(s.Data["NO_PROXY"]) != list {
			t.Errorf("%s: the list is %q", mode, s.Data["no_proxy"])
		}
		for key, value := range s.Data {
			if value == nil {
				t.Errorf("%s: %s would be null", mode, key)
			}
		}
	}
}
