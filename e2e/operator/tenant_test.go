package operator_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/operator"
	"github.com/fairlead-io/fairlead/e2e/tier"
	"github.com/fairlead-io/fairlead/internal/core/render"
)

// tenant has edit in its namespace, and all rights there on what Cluster API knows. Somebody else has the cluster "theirs".
type tenant struct {
	*fixture
	client client.Client // the tenant's own
	theirs *fixture      // the namespace of the others
	victim *clusterv1.Cluster
	turns  int
}

// marker is in the password of the others' proxy alone.
const marker = "not-for-tenants-"

func newTenant(t *testing.T) *tenant {
	t.Helper()
	f := newOwnFixture(t, "--rollout-interval=1s", "--unselected-grace-period=0s")
	f.must(f.cp.Install(f.Context(), controlplane.AWSCluster))
	theirs := fixtureOn(t, f.cp, f.operator)
	f.exampleProxy(newestForm, rolling)
	theirs.source("example-"+theirs.namespace, map[string]string{"http": "http://u:" + marker + "0@192.168.52.220:3128", "noProxy": exampleNoProxy})
	theirs.proxy("example-"+theirs.namespace, func(p *v1alpha1.CorporateProxy) {
		p.Spec.AllowedNamespaces = &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": theirs.namespace}}
		p.Spec.Priority = 10
	})
	config, err := f.cp.ServiceAccount(t.Context(), f.namespace, "tenant")
	f.must(err)
	own := &rbacv1.Role{ObjectMeta: f.named("clusters"), Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{"cluster.x-k8s.io", "infrastructure.cluster.x-k8s.io", "controlplane.cluster.x-k8s.io"}, Resources: []string{"*"}, Verbs: []string{"*"},
	}}}
	f.must(f.client.Create(t.Context(), own))
	for _, role := range []rbacv1.RoleRef{{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "edit"}, {APIGroup: rbacv1.GroupName, Kind: "Role", Name: own.Name}} {
		f.must(f.client.Create(t.Context(), &rbacv1.RoleBinding{
			ObjectMeta: f.named(role.Name), RoleRef: role,
			Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: f.namespace, Name: "tenant"}},
		}))
	}
	return &tenant{fixture: f, client: f.clientFor(config), theirs: theirs, victim: theirs.servedCluster("theirs")}
}

func (t *tenant) create(object client.Object) error { return t.client.Create(t.Context(), object) }

func (t *tenant) delete(object client.Object) error { return t.client.Delete(t.Context(), object) }

// served awaits the Secrets of a Cluster, and changes it.
func (t *tenant) served(name string, change ...func(*clusterv1.Cluster)) error {
	t.Helper()
	cluster := t.own(name)
	if err := t.create(cluster); err != nil {
		return err
	}
	t.report(name, "Applied")
	for _, do := range change {
		do(cluster)
	}
	return t.client.Update(t.Context(), cluster)
}

// patch changes an object of a cluster that is served.
func (t *tenant) patch(cluster string, object client.Object, patch string) error {
	t.Helper()
	return errors.Join(t.served(cluster), t.client.Patch(t.Context(), object, mergePatch(patch)))
}

func label(key, value string) func(*clusterv1.Cluster) {
	return func(c *clusterv1.Cluster) { c.Labels[key] = value }
}

// created creates a Cluster that is so from the first.
func created(change func(*clusterv1.Cluster)) func(*tenant, string) error {
	return func(t *tenant, name string) error { return t.create(t.own(name, change)) }
}

func override(spec v1alpha1.ProxyOverrideSpec) func(*tenant, string) error {
	return func(t *tenant, name string) error {
		return errors.Join(t.served(name), t.create(&v1alpha1.ProxyOverride{ObjectMeta: t.named(name), Spec: spec}))
	}
}

// aws creates a cluster whose infrastructure object has this network.
func aws(network string) func(*tenant, string) error {
	return func(t *tenant, name string) error {
		object := objectOf("infrastructure.cluster.x-k8s.io/v1beta2", "AWSCluster", t.namespace, name)
		t.must(unstructured.SetNestedField(object.Object, network, "spec", "network", "vpc", "cidrBlock"))
		return errors.Join(t.create(object), t.create(t.own(name, ofKind("AWSCluster"))))
	}
}

// own is a Cluster of the tenant.
func (t *tenant) own(name string, change ...func(*clusterv1.Cluster)) *clusterv1.Cluster {
	c := operator.Cluster(t.namespace, name)
	c.Labels[testLabel], c.Annotations = t.namespace, map[string]string{}
	c.Spec.ClusterNetwork = clusterv1.ClusterNetwork{}
	for _, do := range change {
		do(c)
	}
	return c
}

// check changes the password of the others' proxy. It waits for it in their Secrets, and looks for it in the tenant's
// namespace.
func (t *tenant) check() {
	t.Helper()
	t.turns++
	password := fmt.Sprint(marker, t.turns)
	t.theirs.setSource("example-"+t.theirs.namespace, func(data map[string][]byte) {
		data["http"] = []byte("http://u:" + password + "@192.168.52.220:3128")
	})
	controlplanetest.Await(t, "the others' new password", func(context.Context) (bool, error) {
		values, systemd := t.theirs.secrets("theirs")
		return controlplanetest.Holds(values != nil && systemd != nil && strings.Contains(string(values.Data[render.ValuesKey]), password) &&
			strings.Contains(string(systemd.Data[render.ContainerdKey]), password), "their Secrets have another one")
	})
	t.theirs.awaitNoProxy("theirs", exampleMerged)
	t.look()
}

// look looks for the others' password in the tenant's namespace.
func (t *tenant) look() {
	t.Helper()
	var secrets corev1.SecretList
	t.must(t.fixture.client.List(t.Context(), &secrets, client.InNamespace(t.namespace)))
	for _, secret := range secrets.Items {
		for key, value := range secret.Data {
			if strings.Contains(string(value), marker) {
				t.Errorf("Secret %s has the others' password in %s", secret.Name, key)
			}
		}
	}
	for _, kind := range []schema.GroupVersionKind{
		{Version: "v1", Kind: "ConfigMap"},
		{Group: "events.k8s.io", Version: "v1", Kind: "Event"},
		v1alpha1.GroupVersion.WithKind("ProxyReport"), v1alpha1.GroupVersion.WithKind("ProxyOverride"),
	} {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind)
		t.must(t.fixture.client.List(t.Context(), list, client.InNamespace(t.namespace)))
		text, err := list.MarshalJSON()
		t.must(err)
		if strings.Contains(string(text), marker) {
			t.Errorf("a %s has the others' password", kind.Kind)
		}
	}
}

// attempts are the attempts of a tenant, each with a cluster of its own. A refusal by the API server is a valid answer, after which
// the rest of an attempt is made all the same.
var attempts = []struct {
	what string
	do   func(t *tenant, name string) error
}{
	// labels and annotations
	{"the label of the others' proxy", func(t *tenant, name string) error {
		return t.create(t.own(name, label(testLabel, t.theirs.namespace)))
	}},
	{"that label, a moment later", func(t *tenant, name string) error {
		return t.served(name, label(testLabel, t.theirs.namespace))
	}},
	{"the label of what Fairlead wrote", created(label(render.ManagedLabel, render.Manager))},
	{"paused", func(t *tenant, name string) error { return t.served(name, pausedByAnnotation) }},
	{"asks for a re-apply in the report", func(t *tenant, name string) error {
		return t.patch(name, &v1alpha1.ProxyReport{ObjectMeta: t.named(name)}, `{"metadata":{"annotations":{"`+v1alpha1.ReapplyAnnotation+`":"now"}}}`)
	}},
	{"says in the report that another proxy is its own", func(t *tenant, name string) error {
		return t.patch(name, &v1alpha1.ProxyReport{ObjectMeta: t.named(name)}, `{"status":{"proxyName":"example-`+t.theirs.namespace+`"}}`)
	}},
	{"the namespace of the others", func(t *tenant, _ string) error {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: t.namespace}}
		return t.client.Patch(t.Context(), namespace, mergePatch(`{"metadata":{"labels":{"kubernetes.io/metadata.name":"`+t.theirs.namespace+`"}}}`))
	}},
	// names
	{"the name of their cluster", func(t *tenant, _ string) error { return t.create(t.own("theirs")) }},
	{"a name that ends as Secrets do", func(t *tenant, name string) error { return t.create(t.own(name + render.ValuesSuffix)) }},
	{"a long name", func(t *tenant, name string) error { return t.create(t.own(name + strings.Repeat("a", 240))) }},
	// networks and endpoint
	{"all networks", created(func(c *clusterv1.Cluster) { c.Spec.ClusterNetwork.Pods.CIDRBlocks = []string{"0.0.0.0/0", "::/0"} })},
	{"the service domain com", created(func(c *clusterv1.Cluster) { c.Spec.ClusterNetwork.ServiceDomain = "com" })},
	{"a service domain that ends a line", created(func(c *clusterv1.Cluster) {
		c.Spec.ClusterNetwork.ServiceDomain = "a\nEnvironment=\"X=1\""
	})},
	{"the endpoint com", created(func(c *clusterv1.Cluster) { c.Spec.ControlPlaneEndpoint.Host = "com" })},
	{"an endpoint that ends a value", created(func(c *clusterv1.Cluster) { c.Spec.ControlPlaneEndpoint.Host = "a\"\nB=%n" })},
	// the override
	{"an override of everything", override(v1alpha1.ProxyOverrideSpec{NoProxy: []v1alpha1.NoProxyEntry{{Value: "*"}}})},
	{"an override that is direct", override(v1alpha1.ProxyOverrideSpec{Mode: v1alpha1.ModeDirect})},
	{"an override without any entry", override(v1alpha1.ProxyOverrideSpec{Exclude: []string{"svc", "127.0.0.1", "localhost", exampleEndpoint}})},
	{"an override in the others' namespace", func(t *tenant, _ string) error {
		return t.create(&v1alpha1.ProxyOverride{ObjectMeta: t.theirs.named("theirs"), Spec: v1alpha1.ProxyOverrideSpec{Exclude: []string{"svc"}}})
	}},
	{"an override of no Cluster", func(t *tenant, name string) error {
		return t.create(&v1alpha1.ProxyOverride{ObjectMeta: t.named(name)})
	}},
	{"an override that changes all the time", func(t *tenant, name string) error {
		err := t.served(name)
		for i := range 20 {
			o := &v1alpha1.ProxyOverride{ObjectMeta: t.named(name)}
			o.Spec.NoProxy = []v1alpha1.NoProxyEntry{{Value: fmt.Sprintf("a%d.example", i)}}
			err = errors.Join(err, t.create(o), t.delete(o))
		}
		return err
	}},
	{"an override that has ended", override(v1alpha1.ProxyOverrideSpec{Until: &metav1.Time{Time: time.Now().Add(-time.Hour)}, Owner: "o", Reason: "r"})},
	// objects of the infrastructure
	{"an object of the others", func(t *tenant, name string) error {
		return t.create(t.own(name, func(c *clusterv1.Cluster) { c.Spec.InfrastructureRef.Name = "../" + t.theirs.namespace + "/theirs" }))
	}},
	{"an object with all networks", aws("0.0.0.0/0")},
	{"rows of its own", func(t *tenant, name string) error {
		rows := configMapNamed(t.namespace, name)
		rows.Labels = map[string]string{v1alpha1.ProviderFactsLabel: ""}
		rows.Data = map[string]string{"providers.yaml": "- kind: VSphereCluster\n  group: infrastructure.cluster.x-k8s.io\n"}
		return t.create(rows)
	}},
	// Secrets, owners and finalizers
	{"a Secret of the name first", func(t *tenant, name string) error {
		return errors.Join(t.create(secretNamed(t.namespace, name+render.ValuesSuffix)), t.create(t.own(name)))
	}},
	{"an immutable Secret of the name first", func(t *tenant, name string) error {
		secret := secretNamed(t.namespace, name+render.SystemdSuffix)
		secret.Immutable, secret.Annotations = ptr.To(true), map[string]string{render.AdoptKey: "true"}
		return errors.Join(t.create(secret), t.create(t.own(name)))
	}},
	{"a ConfigMap of the name first", func(t *tenant, name string) error {
		return errors.Join(t.create(configMapNamed(t.namespace, name+render.ValuesSuffix)), t.create(t.own(name)))
	}},
	{"other content in Fairlead's Secret", func(t *tenant, name string) error {
		return t.patch(name, secretNamed(t.namespace, name+render.ValuesSuffix), `{"data":{"values":"eA=="}}`)
	}},
	{"an owner of the others' in Fairlead's Secret", func(t *tenant, name string) error {
		const owner = `{"metadata":{"ownerReferences":[{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"Cluster","name":"theirs","uid":%q}]}}`
		return t.patch(name, secretNamed(t.namespace, name+render.ValuesSuffix), fmt.Sprintf(owner, t.victim.UID))
	}},
	{"a finalizer in Fairlead's Secret, and no Cluster", func(t *tenant, name string) error {
		secret := secretNamed(t.namespace, name+render.ValuesSuffix)
		return errors.Join(t.patch(name, secret, `{"metadata":{"finalizers":["example.com/for-ever"]}}`), t.delete(t.own(name)))
	}},
	{"Fairlead's Secrets deleted", func(t *tenant, name string) error {
		return errors.Join(t.served(name), t.client.DeleteAllOf(t.Context(), &corev1.Secret{}, client.InNamespace(t.namespace)))
	}},
	{"a Cluster that does not go", func(t *tenant, name string) error {
		held := func(c *clusterv1.Cluster) { c.Finalizers = []string{"example.com/for-ever"} }
		return errors.Join(t.served(name, held), t.delete(t.own(name)))
	}},
	{"another Cluster of the name", func(t *tenant, name string) error {
		return errors.Join(t.served(name), t.delete(t.own(name)), t.create(t.own(name, label(testLabel, t.theirs.namespace))))
	}},
	// what is rolled
	{"a Machine of their cluster", func(t *tenant, name string) error {
		machine := &clusterv1.Machine{ObjectMeta: t.meta(name, "theirs"), Spec: machineSpec("theirs")}
		machine.Labels[clusterv1.MachineDeploymentNameLabel] = "theirs"
		return t.create(machine)
	}},
	{"a control plane of their cluster", func(t *tenant, name string) error { return t.create(controlPlaneOf(t.meta(name, "theirs"))) }},
}

// It takes a minute, in make test-all.
func TestWhatATenantTriesReachesNobodyElse(t *testing.T) {
	tier.Full(t)
	of := newTenant(t)
	for i, attempt := range attempts {
		err := attempt.do(of, fmt.Sprintf("t%02d", i))
		t.Logf("%s: %.200v", attempt.what, err)
		of.check()
		if t.Failed() {
			t.Fatalf("after: %s", attempt.what)
		}
	}
	of.must(of.create(of.own("last"))) // and nobody is held up in the tenant's own namespace
	of.report("last", "Applied")
}
