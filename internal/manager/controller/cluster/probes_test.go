package cluster

import (
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/proxyurl"
	"github.com/fairlead-io/fairlead/internal/core/render"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/internal/manager/controller/settings"
)

// valuesOf returns the values that were written last for a cluster.
func (f *countedFleet) valuesOf(cluster string) string {
	f.Helper()
	secret := &corev1.Secret{}
	if err := json.Unmarshal([]byte(f.applied[cluster+render.ValuesSuffix]), secret); err != nil {
		f.Fatal(err)
	}
	return string(secret.Data[render.ValuesKey])
}

// What clusters are probed for is in one Secret of each: machines are told nothing of it.
func TestProbesChangeTheValuesAlone(t *testing.T) {
	const n = 5
	f := newCountedFleet(t, n)
	f.reconcileAll(n)
	proxy, machines := f.proxy(), f.applied["c3"+render.SystemdSuffix]
	proxy.Spec.Probes = &v1alpha1.Probes{MustReach: []v1alpha1.ProbeTarget{{URL: "https://a.example"}}}
	proxy.Generation++
	if err := f.objects.Update(t.Context(), proxy); err != nil {
		t.Fatal(err)
	}
	f.want("targets", f.reconcileAll(n), map[string]int{"apply": n, "status of ProxyReport": n, "status of CorporateProxy": 1})
	f.want("nothing changed", f.reconcileAll(n), map[string]int{})
	if f.applied["c3"+render.SystemdSuffix] != machines {
		t.Error("the Secret for machines was written")
	}
	key, err := f.Key.Get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	u, err := proxyurl.Parse("http://me:old-password@proxy.example:3128")
	if err != nil {
		t.Fatal(err)
	}
	text := f.valuesOf("c3")
	for _, want := range []string{"url: https://a.example", "url: https://10.0.0.3:6443", "current: " + settings.Fingerprints(key, resolve.Installation{HTTP: u}).Current} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is not in\n%s", want, text)
		}
	}
	f.setPassword("new-password")
	f.want("a new password", f.reconcileAll(n), map[string]int{"apply": 2 * n, "status of ProxyReport": n, "status of CorporateProxy": 1})
	if f.valuesOf("c3") == text || strings.Contains(f.valuesOf("c3"), settings.Fingerprints(key, resolve.Installation{HTTP: u}).Current) {
		t.Error("the fingerprint is that of before")
	}
}
