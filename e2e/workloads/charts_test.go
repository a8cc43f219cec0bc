package workloads_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/helm"
	"github.com/fairlead-io/fairlead/e2e/kubelet"
	"github.com/fairlead-io/fairlead/e2e/samples"
	"github.com/fairlead-io/fairlead/e2e/tools"
	"github.com/fairlead-io/fairlead/internal/core/proxyurl"
	"github.com/fairlead-io/fairlead/internal/core/render"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/noproxy"
)

func TestMain(m *testing.M) { controlplanetest.Main(m) }

// The stand-ins in testdata/consumers.
const (
	chartOperator  = "chart-operator"
	certManagerApp = "cert-manager-app"
	certManager    = "cert-manager"
)

// environments is what the pod of each consumer has of the six variables.
type environments map[string]map[string]string

// effective is what is resolved for the published example with another proxy.
func effective(t *testing.T, http, https proxyurl.URL, change ...func(*resolve.Input)) resolve.Effective {
	t.Helper()
	in := resolve.Input{
		Installation: resolve.Installation{Name: "default", HTTP: http, HTTPS: https},
		Cluster: resolve.Cluster{
			Namespace: "org-acme", Name: "mycluster", ServiceDomain: "cluster.local",
			ServiceCIDRs: []string{"100.64.0.0/13"}, PodCIDRs: []string{"100.96.0.0/11"}, EndpointHost: "fd00::",
		},
	}
	for _, c := range change {
		c(&in)
	}
	e, err := resolve.Resolve(in)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func parse(t *testing.T, url string) proxyurl.URL {
	t.Helper()
	u, err := proxyurl.Parse(url)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// renderCharts lets Helm render the consumers with the values as they stand in <cluster>-cluster-values, and others
// over them.
func renderCharts(t *testing.T, e resolve.Effective, over ...any) (environments, error) {
	t.Helper()
	secrets, err := render.Secrets(e)
	if err != nil {
		t.Fatal(err)
	}
	layers := append([]any{secrets[0].Data[render.ValuesKey]}, over...)
	manifest, err := helm.Template(t.Context(), helm.Release{Chart: "testdata/consumers", Name: "consumers", Namespace: "kube-system", Values: layers})
	if errors.Is(err, tools.ErrUnavailable) {
		controlplanetest.Require(t, err)
	}
	if err != nil {
		return nil, err
	}
	return podEnvironments(t, manifest), nil
}

// podEnvironments does what the kubelet does with the pods of a manifest.
func podEnvironments(t *testing.T, manifest []byte) environments {
	t.Helper()
	settings, found := map[string]string{}, environments{}
	var pods []corev1.Pod
	documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(manifest), 1<<20)
	for {
		var document json.RawMessage
		err := documents.Decode(&document)
		if errors.Is(err, io.EOF) {
			break
		}
		var kind struct{ Kind string }
		if err != nil || json.Unmarshal(document, &kind) != nil {
			t.Fatalf("%v in\n%s", err, manifest)
		}
		var pod corev1.Pod
		var configMap corev1.ConfigMap
		if kind.Kind == "ConfigMap" {
			err = json.Unmarshal(document, &configMap)
			settings = configMap.Data
		} else if err = json.Unmarshal(document, &pod); err == nil {
			pods = append(pods, pod)
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, document)
		}
	}
	for i := range pods {
		found[pods[i].Name] = environmentOf(t, pods[i].Spec.Containers[0].Env, settings)
	}
	return found
}

// environmentOf replaces references by what stands in the ConfigMap, and lets the kubelet's own code expand the rest.
func environmentOf(t *testing.T, env []corev1.EnvVar, settings map[string]string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, variable := range env {
		if !strings.HasSuffix(strings.ToLower(variable.Name), "_proxy") {
			continue
		}
		if variable.ValueFrom == nil {
			found[variable.Name] = expand(t, variable.Value)
		} else if value, set := settings[variable.ValueFrom.ConfigMapKeyRef.Key]; set {
			found[variable.Name] = value
		}
	}
	return found
}

func expand(t *testing.T, text string) string {
	t.Helper()
	values, err := kubelet.Expand(t.Context(), []kubelet.Variable{{Name: "HOME", Value: "expanded"}, {Value: text}})
	controlplanetest.Require(t, err)
	return values[1]
}

// meant is what the consumers do with three settings.
func meant(http, https, list string) environments {
	want := environments{chartOperator: {}, certManagerApp: {}, certManager: {}}
	for name, value := range map[string]string{"HTTP_PROXY": http, "HTTPS_PROXY": https, "NO_PROXY": list} {
		if http != "" && https != "" && list != "" {
			want[chartOperator][name], want[chartOperator][strings.ToLower(name)] = value, value
		}
		if http != "" || https != "" {
			want[certManagerApp][name] = value
		}
		if value != "" {
			want[certManager][name] = value
		}
	}
	return want
}

func TestChartsThatTakeTheValuesGiveTheirPodsWhatWasMeant(t *testing.T) {
	plain := parse(t, "http://proxy.example:3128")
	proxies := map[string]proxyurl.URL{"by hand": parse(t, "http://me:a%40b%25%24!&'()*+,;=:-._~@[::1]:3128")}
	for _, s := range samples.All(t) {
		if s.Username != "" && s.Number%50 == 1 || s.Number == 0 {
			u, err := plain.WithCredentials(s.Username, s.Password)
			if err != nil {
				t.Fatal(err)
			}
			proxies[s.String()] = u
		}
	}
	if len(proxies) < 20 {
		t.Fatalf("only %d passwords", len(proxies))
	}
	for name, proxy := range proxies {
		e := effective(t, proxy, proxy)
		got, err := renderCharts(t, e)
		if err != nil {
			t.Fatal(name, err)
		}
		if diff := cmp.Diff(meant(proxy.Reveal(), proxy.Reveal(), e.NoProxy.Any.String()), got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestTheAppsOwnValuesComeBeforeTheClusters(t *testing.T) {
	cluster := "http://me:S%25@proxy.example:3128"
	e := effective(t, parse(t, cluster), parse(t, cluster))
	list := e.NoProxy.Any.String()
	for name, test := range map[string]struct {
		own               map[string]any
		http, https, list string
	}{
		"nothing of its own":   {map[string]any{}, cluster, cluster, list},
		"an empty one is none": {map[string]any{"http": "", "noProxy": ""}, cluster, cluster, list},
		"one URL":              {map[string]any{"http": "http://own.example:1"}, "http://own.example:1", cluster, list},
		"the list alone":       {map[string]any{"noProxy": "own.example"}, cluster, cluster, "own.example"},
		"all three of its own": {map[string]any{"http": "http://own.example:1", "https": "http://own.example:2", "noProxy": "x"}, "http://own.example:1", "http://own.example:2", "x"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := renderCharts(t, e, map[string]any{"proxy": test.own})
			if err != nil {
				t.Fatal(err)
			}
			want := meant(test.http, test.https, test.list)
			want[certManager] = meant(cluster, cluster, list)[certManager] // it has no such values
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Blank values override those of a lower layer, which absent ones would let through.
func TestAClusterThatGoesDirectTakesTheProxyFromItsCharts(t *testing.T) {
	proxy := parse(t, "http://proxy.example:3128")
	lower, err := render.Values(effective(t, proxy, proxy))
	if err != nil {
		t.Fatal(err)
	}
	direct := effective(t, proxy, proxy, func(in *resolve.Input) {
		in.Installation.Delegation.Direct = true
		in.Override.Direct = true
	})
	blank, err := render.Values(direct)
	if err != nil {
		t.Fatal(err)
	}
	got, err := renderCharts(t, effective(t, proxy, proxy), lower, blank)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(meant("", "", ""), got); diff != "" {
		t.Error(diff)
	}
}

// chart-operator takes all three or none; docs/how-to/workloads.md says so.
func TestOneURLAloneReachesAllButChartOperator(t *testing.T) {
	proxy := parse(t, "http://proxy.example:3128")
	e := effective(t, proxyurl.URL{}, proxy)
	got, err := renderCharts(t, e)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(meant("", proxy.Reveal(), e.NoProxy.Any.String()), got); diff != "" {
		t.Error(diff)
	}
}

// What an unquoted template, and the kubelet after it, do with two spellings that Fairlead takes: docs/how-to/workloads.md
// says what to write instead.
// A cluster in the newest form has values whose password kubelet leaves alone.
func TestADollarArrivesThroughTheChartsOfOthers(t *testing.T) {
	dollar := parse(t, "http://me:a$$b$(HOME)@proxy.example:3128")
	got, err := renderCharts(t, effective(t, dollar, dollar))
	if err != nil {
		t.Fatal(err)
	}
	for _, chart := range []string{chartOperator, certManager, certManagerApp} {
		read, err := url.Parse(got[chart]["HTTP_PROXY"])
		if err != nil {
			t.Fatalf("%s: %v", chart, err)
		}
		if password, _ := read.User.Password(); password != "a$$b$(HOME)" {
			t.Errorf("%s: the password is %q", chart, password)
		}
	}
}

func TestWhatTheChartsOfOthersCannotCarry(t *testing.T) {
	dollar := parse(t, "http://me:a$$b$(HOME)@proxy.example:3128")
	got, err := renderCharts(t, effective(t, dollar, dollar, func(in *resolve.Input) { in.PinnedForm = resolve.FormPortable }))
	if err != nil {
		t.Fatal(err)
	}
	if want := "http://me:a$bexpanded@proxy.example:3128"; got[chartOperator]["HTTP_PROXY"] != want || got[certManager]["HTTP_PROXY"] != want {
		t.Errorf("the kubelet no longer reads $ in a value: %v", got)
	}
	if got[certManagerApp]["HTTP_PROXY"] != dollar.Reveal() {
		t.Errorf("by a ConfigMap: %v", got[certManagerApp])
	}

	star, err := noproxy.Parse("*")
	if err != nil {
		t.Fatal(err)
	}
	everything := func(form resolve.Form) func(*resolve.Input) {
		return func(in *resolve.Input) {
			in.Installation.NoProxy = noproxy.List{{Entry: star, Sources: []noproxy.Source{{Layer: noproxy.LayerInstallation}}}}
			in.Installation.Form = form
		}
	}
	if _, err := renderCharts(t, effective(t, dollar, dollar, everything(resolve.FormPortable))); err == nil || !strings.Contains(err.Error(), "YAML") {
		t.Errorf("a list that begins with *: %v", err)
	}
	if _, err := renderCharts(t, effective(t, dollar, dollar, everything(resolve.FormExact))); err != nil {
		t.Errorf("a list with * in it: %v", err)
	}
}
