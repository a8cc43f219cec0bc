package workloads_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/fairlead-io/fairlead/e2e/policies"
	"github.com/fairlead-io/fairlead/e2e/samples"
	"github.com/fairlead-io/fairlead/internal/core/proxyurl"
	"github.com/fairlead-io/fairlead/internal/core/render"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/noproxy"
)

// secretOfChart returns the Secret for pods that charts/fairlead-policies makes of the values.
func secretOfChart(t *testing.T, values []byte) corev1.Secret {
	t.Helper()
	manifest, err := policies.Render(t.Context(), values)
	if err != nil {
		t.Fatal(err)
	}
	documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(manifest), 1<<20)
	for {
		var document json.RawMessage
		if err := documents.Decode(&document); errors.Is(err, io.EOF) {
			t.Fatalf("no Secret in\n%s", manifest)
		} else if err != nil {
			t.Fatal(err)
		}
		var secret corev1.Secret
		if json.Unmarshal(document, &secret) == nil && secret.Kind == "Secret" {
			return secret
		}
	}
}

// Pods are programs of any kind: theirs is the list that every client reads alike, the whole way from the Secret
// <cluster>-cluster-values. The chart and "render -o pod-secret" make the same of it.
func TestPodsGetTheListForAnyClientByTheChartAndWithoutIt(t *testing.T) {
	var network noproxy.List // which some clients cannot read: it is in the list for Go alone
	entry, err := noproxy.Parse("fd12::/48")
	if err != nil {
		t.Fatal(err)
	}
	network = append(network, noproxy.Item{Entry: entry, Sources: []noproxy.Source{{Layer: noproxy.LayerInstallation}}})
	s := samples.All(t)[0]
	proxy, err := parse(t, "http://proxy.example:3128").WithCredentials(s.Username, s.Password)
	if err != nil {
		t.Fatal(err)
	}
	list := func(in *resolve.Input) {
		in.Cluster.EndpointHost, in.Installation.NoProxy = "10.0.0.1", network
	}
	direct := func(in *resolve.Input) { in.Installation.Delegation.Direct, in.Override.Direct = true, true }
	for name, e := range map[string]resolve.Effective{
		"both":   effective(t, proxy, proxy, list),
		"one":    effective(t, proxyurl.URL{}, proxy, list),
		"Direct": effective(t, proxy, proxy, list, direct),
	} {
		t.Run(name, func(t *testing.T) {
			if name != "Direct" && e.NoProxy.Any.String() == e.NoProxy.Go.String() {
				t.Fatal("the two lists are the same, so this proves nothing")
			}
			values, err := render.Values(e)
			if err != nil {
				t.Fatal(err)
			}
			ours, chart := render.PodSecret(e), secretOfChart(t, values)
			if diff := cmp.Diff(chart.Data, ours.Data); diff != "" || ours.Name != chart.Name || ours.Role() != chart.Labels[render.SecretLabel] {
				t.Errorf("%s and %s: %s", ours, chart.Name, diff)
			}
			if got := string(chart.Data["NO_PROXY"]); got != e.NoProxy.Any.String() {
				t.Errorf("the list is %q", got)
			}
		})
	}
}
