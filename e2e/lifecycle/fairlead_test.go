package lifecycle_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/deployment"
	"github.com/fairlead-io/fairlead/e2e/helm"
	"github.com/fairlead-io/fairlead/e2e/repository"
	"github.com/fairlead-io/fairlead/e2e/tools"
)

// The company's settings, as the example has them, and as they are changed to.
const (
	exampleNoProxy  = "172.16.0.0/16,internal.corpdomain.net,example.com"
	examplePassword = "mySuperSecretPassword"
)

func example() string { return repository.Path("examples", "secret-values.yaml") }

// changed are the example's values with another password and one more entry.
func (r *release) changed(noProxy any) string {
	r.Helper()
	url := "http://myProxyUser:" + changedPassword + "@192.168.52.220:3128"
	return r.file(values{"proxy": values{"http": url, "https": url, "noProxy": noProxy}})
}

func TestFairleadFromAFailedInstallToAReinstall(t *testing.T) {
	r := newRelease(t, controlplanetest.Start(t, controlplane.Options{Content: []controlplane.Content{controlplane.ClusterAPI}}), "fairlead")
	r.makeFleet()
	secrets := record(t, controlplanetest.Clients(t, r.cp))

	r.failedInstall([]string{"proxy"})
	r.removeCRDs()
	r.upgradeFromThePreviousVersion()
	operator := r.start("fairlead-operator")
	r.settings()
	r.uninstall(operator)
	r.reinstall()

	if seen := secrets.check(t, ofFleet, lacking); seen < 5*2*3 {
		t.Errorf("only %d versions of the clusters' Secrets were seen", seen)
	}
}

// upgradeFromThePreviousVersion begins with a release that lacks a field of the CRDs and a key of the values.
func (r *release) upgradeFromThePreviousVersion() {
	r.Helper()
	older := previous(r, r.chart, "rollout")
	edit(r, filepath.Join(older, "crds", "fairlead.io_corporateproxies.yaml"), func(crd values) {
		spec := crd["spec"].(values)["versions"].([]any)[0].(values)["schema"].(values)["openAPIV3Schema"].(values)["properties"].(values)["spec"]
		delete(spec.(values)["properties"].(values), "trustedCARef") //nolint:forcetypeassert // a CRD
	})
	// One release has the CRDs and an object of theirs.
	r.mustHelm("install", older, "--create-namespace", "--values", example())
	operator := r.start("fairlead-operator")
	r.awaitFleet(examplePassword, "example.com")
	r.idle(operator)
	before := r.kept()

	r.refused("upgrade", []string{r.chart, "--values", example()}, "CustomResourceDefinition corporateproxies.fairlead.io", "helm show crds", "kubectl apply --server-side")
	r.mustHelm("upgrade", r.chart, "--values", example(), "--set", "checkCRDs=false", "--dry-run=server")
	r.applyCRDs()
	r.refused("upgrade", []string{r.chart, "--reuse-values"}, "rollout")
	r.same("refused upgrades", clustersSecrets(before), clustersSecrets(r.kept()))
	settings := r.source()
	r.mustHelm("upgrade", r.chart, "--reset-then-reuse-values")
	controlplanetest.Require(r, operator.Stop())
	operator = r.start("fairlead-operator")
	r.idle(operator)
	r.same("the settings after the upgrade", settings, r.source())
	r.same("the upgrade", clustersSecrets(before), clustersSecrets(r.kept()))
	r.refused("upgrade", []string{older, "--values", example()}, "CustomResourceDefinition corporateproxies.fairlead.io")
	r.mustHelm("upgrade", r.chart, "--reuse-values")
	r.same("the settings after --reuse-values", settings, r.source())
	controlplanetest.Require(r, operator.Stop())
}

// applyCRDs does what the refusal says.
func (r *release) applyCRDs() {
	r.Helper()
	crds, err := helm.Run(r.Context(), "show", "crds", r.chart)
	controlplanetest.Require(r, err)
	kubectl := controlplanetest.Tool(r, tools.Kubectl)
	apply := exec.CommandContext(r.Context(), kubectl, "--kubeconfig", r.cp.AdminKubeconfig(), "apply", "--server-side", "--force-conflicts", "-f", "-")
	apply.Stdin = bytes.NewReader(crds)
	if said, err := apply.CombinedOutput(); err != nil {
		r.Fatalf("%v: %s", err, said)
	}
}

// settings changes them in every way that Helm has.
func (r *release) settings() {
	r.Helper()
	r.mustHelm("upgrade", r.chart, "--values", r.changed(exampleNoProxy+",new.example"))
	changed := r.revision()
	r.awaitFleet(changedPassword, "new.example")
	asText := r.source()
	r.mustHelm("upgrade", r.chart, "--values", r.changed(append(strings.Split(exampleNoProxy, ","), "new.example")))
	r.same("noProxy as a list, before as text", asText, r.source())
	for _, bad := range []struct{ set, says string }{
		{"proxy.http=,proxy.https=", "corporateProxy.create"},
		{"corporateProxy.spec.form=portable", "form"},
	} {
		r.refused("upgrade", []string{r.chart, "--reuse-values", "--set", bad.set}, bad.says)
		r.same("after a refused upgrade with "+bad.set, asText, r.source())
	}
	r.mustHelm("upgrade", r.chart, "--values", example(), "--set", "corporateProxy.spec.form=Exact")
	r.awaitFleet(examplePassword, "cluster.local,100.64.0.0/13,100.96.0.0/11,178.170.32.59,"+exampleNoProxy+",svc,127.0.0.1,localhost")
	r.mustHelm("rollback", changed)
	r.awaitFleet(changedPassword, "new.example")
}

// uninstall uninstalls the release, and checks that the clusters keep every object.
func (r *release) uninstall(operator *deployment.Replica) {
	r.Helper()
	r.awaitEndOfChange()
	r.idle(operator)
	before := r.kept()
	mark, err := r.cp.AuditMark()
	controlplanetest.Require(r, err)
	r.mustHelm("uninstall")
	r.idle(operator)
	controlplanetest.Require(r, operator.Stop())
	r.same("uninstalled", before, r.kept())
	r.noWrites(mark)
	r.gone()
}

func (r *release) reinstall() {
	r.Helper()
	before := r.kept()
	other := *r
	other.name = "proxy"
	other.refused("install", []string{r.chart, "--values", example()}, "cannot be imported", `must equal "proxy": current value is "fairlead"`)
	// Helm applies the CRDs before it refuses, which changes no more than its own notes about their fields.
	r.same("a release of another name was refused, and changed", exceptCRDs(before), exceptCRDs(r.kept()))

	r.mustHelm("install", r.chart, "--values", r.changed(exampleNoProxy+",new.example"))
	operator := r.start("fairlead-operator")
	r.idle(operator)
	r.same("installed again", clustersSecrets(before), clustersSecrets(r.kept()))
	r.mustHelm("uninstall")
	controlplanetest.Require(r, operator.Stop())

	other.mustHelm("install", r.chart, "--values", example(), "--take-ownership")
	operator = r.start("fairlead-operator")
	r.awaitFleet(examplePassword, "example.com")
	other.mustHelm("uninstall")
	controlplanetest.Require(r, operator.Stop())
}

// failedInstall is one with a mistake in its values, about which Helm says these.
func (r *release) failedInstall(says []string, flags ...string) {
	r.Helper()
	typo := r.file(values{"proxy": values{"htttp": "http://me:" + examplePassword + "@proxy.example:3128"}})
	r.refused("install", append([]string{r.chart, "--create-namespace", "--values", typo}, flags...), says...)
	if err := r.client.Get(r.Context(), client.ObjectKey{Name: namespace}, &corev1.Namespace{}); !apierrors.IsNotFound(err) {
		r.Errorf("after a failed install, the namespace: %v", err)
	}
	r.gone()
}

// removeCRDs removes what Helm has installed before it looked at the values. Else the next install would not bring older ones.
func (r *release) removeCRDs() {
	r.Helper()
	for _, name := range []string{"corporateproxies", "proxyoverrides", "proxyreports"} {
		crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: name + ".fairlead.io"}}
		controlplanetest.Require(r, r.client.Delete(r.Context(), crd))
		controlplanetest.Await(r, crd.Name+" to go", func(ctx context.Context) (bool, error) {
			err := r.client.Get(ctx, client.ObjectKeyFromObject(crd), crd)
			return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
		})
	}
}

// revision is the release's newest.
func (r *release) revision() string {
	r.Helper()
	records := &corev1.SecretList{}
	controlplanetest.Require(r, r.client.List(r.Context(), records, client.InNamespace(namespace), client.MatchingLabels{"owner": "helm", "name": r.name}))
	newest := 0
	for _, record := range records.Items {
		number, err := strconv.Atoi(record.Labels["version"])
		controlplanetest.Require(r, err)
		newest = max(newest, number)
	}
	return strconv.Itoa(newest)
}

// source returns the data of the installation's Secret.
func (r *release) source() map[string]string {
	r.Helper()
	secret := &corev1.Secret{}
	controlplanetest.Require(r, r.client.Get(r.Context(), client.ObjectKey{Namespace: namespace, Name: "corporate-proxy"}, secret))
	said := map[string]string{}
	for key, value := range secret.Data {
		said[key] = string(value)
	}
	return said
}

// kept are the objects that outlive a release, by name, as YAML.
func (r *release) kept() map[string]string {
	r.Helper()
	found := map[string]string{}
	for gvk, namespaces := range map[schema.GroupVersionKind][]string{
		apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"): {""},
		{Group: "fairlead.io", Version: "v1alpha1", Kind: "CorporateProxy"}:     {""},
		{Group: "fairlead.io", Version: "v1alpha1", Kind: "ProxyReport"}:        {""},
		{Group: "cluster.x-k8s.io", Version: "v1beta2", Kind: "Cluster"}:        {""},
		{Group: "cluster.x-k8s.io", Version: "v1beta2", Kind: "Machine"}:        {""},
		{Version: "v1", Kind: "Secret"}:                                         append(slices.Collect(maps.Keys(fleet)), namespace),
	} {
		for _, in := range namespaces {
			list := &unstructured.UnstructuredList{}
			list.SetGroupVersionKind(gvk)
			controlplanetest.Require(r, r.client.List(r.Context(), list, client.InNamespace(in)))
			for _, object := range list.Items {
				text, err := yaml.Marshal(object.Object)
				controlplanetest.Require(r, err)
				if object.GetLabels()["owner"] != "helm" {
					found[fmt.Sprintf("%s %s/%s", gvk.Kind, object.GetNamespace(), object.GetName())] = string(text)
				}
			}
		}
	}
	for kind, atLeast := range map[string]int{"CustomResourceDefinition": 3, "CorporateProxy": 1, "ProxyReport": 3, "Machine": 3, "Secret": 7} {
		if n := len(only(found, kind+" ")); n < atLeast {
			r.Errorf("there are only %d of kind %s", n, kind)
		}
	}
	return found
}

// clustersSecrets are those of kept that clusters have.
func clustersSecrets(found map[string]string) map[string]string {
	return only(found, "Secret org-")
}

// only are those whose names begin so.
func only(found map[string]string, prefix string) map[string]string {
	left := maps.Clone(found)
	maps.DeleteFunc(left, func(name, _ string) bool { return !strings.HasPrefix(name, prefix) })
	return left
}

func exceptCRDs(found map[string]string) map[string]string {
	left := maps.Clone(found)
	maps.DeleteFunc(left, func(name, _ string) bool { return strings.HasPrefix(name, "CustomResourceDefinition ") })
	return left
}

// aggregated is the ClusterRole that stays: a controller of Kubernetes fills it in, and makes it anew if it goes at once
// with its parts. The binding goes.
const aggregated = "fairlead-provider-facts"

// gone holds that what belongs to the release alone went with it.
func (r *release) gone() {
	r.Helper()
	for _, gvk := range []schema.GroupVersionKind{
		{Group: "apps", Version: "v1", Kind: "Deployment"},
		{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole"},
		{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRoleBinding"},
		{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "ValidatingAdmissionPolicy"},
		{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "ValidatingAdmissionPolicyBinding"},
		{Version: "v1", Kind: "ServiceAccount"},
	} {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(gvk)
		controlplanetest.Require(r, r.client.List(r.Context(), list))
		for _, object := range list.Items {
			if strings.HasPrefix(object.Name, "fairlead") && (gvk.Kind != "ClusterRole" || object.Name != aggregated) {
				r.Errorf("%s %s is left", gvk.Kind, object.Name)
			}
		}
	}
}
