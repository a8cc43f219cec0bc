package workloads_test

import (
	"bytes"
	"errors"
	"maps"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/helm"
	"github.com/fairlead-io/fairlead/e2e/kubelet"
	"github.com/fairlead-io/fairlead/e2e/policies"
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

// environments has the six variables in the pod of each consumer.
type environments map[string]map[string]string

// effective returns the settings that are resolved for the published example with another proxy.
func effective(t *testing.T, proxy proxyurl.URL, change ...func(*resolve.Input)) resolve.Effective {
	t.Helper()
	in := resolve.Input{
		Installation: resolve.Installation{Name: "default", HTTP: proxy, HTTPS: proxy},
		Cluster: resolve.Cluster{
			Namespace: "org-acme", Name: "mycluster", ServiceDomain: "cluster.local",
			ServiceCIDRs: []string{"100.64.0.0/13"}, PodCIDRs: []string{"100.96.0.0/11"}, EndpointHost: "fd00::",
		},
	}
	for _, c := range change {
		c(&in)
	}
	e, err := resolve.Resolve(in)
	controlplanetest.Require(t, err)
	return e
}

func parse(t *testing.T, url string) proxyurl.URL {
	t.Helper()
	u, err := proxyurl.Parse(url)
	controlplanetest.Require(t, err)
	return u
}

// entry returns an installation's list with one entry.
func entry(t *testing.T, text string) noproxy.List {
	t.Helper()
	e, err := noproxy.Parse(text)
	controlplanetest.Require(t, err)
	return noproxy.List{{Entry: e, Sources: []noproxy.Source{{Layer: noproxy.LayerInstallation}}}}
}

// renderCharts lets Helm render the consumers with the values as they stand in <cluster>-cluster-values.
func renderCharts(t *testing.T, e resolve.Effective) (environments, error) {
	t.Helper()
	secrets, err := render.Secrets(e)
	controlplanetest.Require(t, err)
	manifest, err := helm.Template(t.Context(), helm.Release{
		Chart: "testdata/consumers", Name: "consumers", Namespace: "kube-system", Values: []any{secrets[0].Data[render.ValuesKey]},
	})
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
	objects, err := controlplane.Parse(manifest)
	if err != nil {
		t.Fatalf("%v in\n%s", err, manifest)
	}
	var settings corev1.ConfigMap
	var pods []corev1.Pod
	for _, object := range objects {
		var pod corev1.Pod
		if object.GetKind() == "ConfigMap" {
			err = runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &settings)
		} else if err = runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &pod); err == nil {
			pods = append(pods, pod)
		}
		if err != nil {
			t.Fatalf("%v in\n%v", err, object.Object)
		}
	}
	found := environments{}
	for i := range pods {
		found[pods[i].Name] = environmentOf(t, pods[i].Spec.Containers[0].Env, settings.Data)
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

// meant returns the expected variables of the consumers for a proxy and a list.
func meant(proxy, list string) environments {
	upper := map[string]string{"HTTP_PROXY": proxy, "HTTPS_PROXY": proxy, "NO_PROXY": list}
	both := map[string]string{"http_proxy": proxy, "https_proxy": proxy, "no_proxy": list}
	maps.Copy(both, upper)
	return environments{chartOperator: both, certManagerApp: upper, certManager: upper}
}

func TestChartsThatTakeTheValuesGiveTheirPodsWhatWasMeant(t *testing.T) {
	plain := parse(t, "http://proxy.example:3128")
	proxies := map[string]proxyurl.URL{"by hand": parse(t, "http://me:a%40b%25%24!&'()*+,;=:-._~@[::1]:3128")}
	for _, s := range samples.All(t) {
		if s.Username != "" && s.Number%50 == 1 || s.Number == 0 {
			u, err := plain.WithCredentials(s.Username, s.Password)
			controlplanetest.Require(t, err)
			proxies[s.String()] = u
		}
	}
	if len(proxies) < 20 {
		t.Fatalf("only %d passwords", len(proxies))
	}
	for name, proxy := range proxies {
		e := effective(t, proxy)
		got, err := renderCharts(t, e)
		if err != nil {
			t.Fatal(name, err)
		}
		if diff := cmp.Diff(meant(proxy.Reveal(), e.NoProxy.Any.String()), got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// What unquoted templates, and the kubelet after them, do with spellings that Fairlead takes: docs/how-to/workloads.md says
// what to write instead. A cluster in the newest form has values whose password the kubelet leaves alone.
func TestWhatTheChartsOfOthersCarry(t *testing.T) {
	dollar := parse(t, "http://me:a$$b$(HOME)@proxy.example:3128")
	portable := func(in *resolve.Input) { in.PinnedForm = resolve.FormPortable }
	for form, test := range map[string]struct {
		effective              resolve.Effective
		literal, fromConfigMap string // the password
	}{
		"the newest": {effective(t, dollar), "a$$b$(HOME)", "a$$b$(HOME)"},
		"Portable":   {effective(t, dollar, portable), "a$bexpanded", "a$$b$(HOME)"},
	} {
		got, err := renderCharts(t, test.effective)
		if err != nil {
			t.Fatal(form, err)
		}
		for chart, want := range map[string]string{chartOperator: test.literal, certManager: test.literal, certManagerApp: test.fromConfigMap} {
			read, err := url.Parse(got[chart]["HTTP_PROXY"])
			if err != nil {
				t.Fatalf("%s, %s: %v", form, chart, err)
			}
			if password, _ := read.User.Password(); password != want {
				t.Errorf("%s, %s: the password is %q, not %q", form, chart, password, want)
			}
		}
	}

	everything := func(form resolve.Form) resolve.Effective {
		return effective(t, dollar, func(in *resolve.Input) { in.Installation.NoProxy, in.Installation.Form = entry(t, "*"), form })
	}
	if _, err := renderCharts(t, everything(resolve.FormPortable)); err == nil || !strings.Contains(err.Error(), "YAML") {
		t.Errorf("a list that begins with *: %v", err)
	}
	if _, err := renderCharts(t, everything(resolve.FormExact)); err != nil {
		t.Errorf("a list with * in it: %v", err)
	}
}

// Pods are programs of any kind: theirs is the list that every client reads alike, the whole way from the Secret
// <cluster>-cluster-values. The chart and "render -o pod-secret" make the same of it.
func TestPodsGetTheListForAnyClientByTheChartAndWithoutIt(t *testing.T) {
	e := effective(t, parse(t, "http://me:a%25%24!&'()*+,;=:@proxy.example:3128"), func(in *resolve.Input) {
		in.Installation.NoProxy = entry(t, "fd12::/48") // which some clients cannot read: it is in the list for Go alone
	})
	if e.NoProxy.Any.String() == e.NoProxy.Go.String() {
		t.Fatal("the two lists are the same, so this proves nothing")
	}
	values, err := render.Values(e)
	controlplanetest.Require(t, err)
	manifest, err := policies.Render(t.Context(), values)
	controlplanetest.Require(t, err)
	var chart corev1.Secret
	for document := range bytes.SplitSeq(manifest, []byte("\n---\n")) {
		var object corev1.Secret
		if yaml.Unmarshal(document, &object) == nil && object.Kind == "Secret" {
			chart = object
		}
	}
	ours := render.PodSecret(e)
	if diff := cmp.Diff(chart.Data, ours.Data); diff != "" || ours.Name != chart.Name || ours.Role() != chart.Labels[render.SecretLabel] {
		t.Errorf("%s and %s: %s", ours, chart.Name, diff)
	}
	if got := string(chart.Data["NO_PROXY"]); got != e.NoProxy.Any.String() {
		t.Errorf("the list is %q", got)
	}
}
