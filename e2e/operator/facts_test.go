package operator_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/tier"
)

func TestAClusterOnAWSWaitsForItsVPCAndKeepsWhatWasRead(t *testing.T) {
	f := newFixture(t)
	f.must(f.cp.Install(f.Context(), controlplane.AWSCluster))
	f.exampleProxy()
	aws := objectOf("infrastructure.cluster.x-k8s.io/v1beta2", "AWSCluster", f.namespace, "c1")
	f.must(unstructured.SetNestedField(aws.Object, "eu-central-1", "spec", "region"))
	f.must(f.client.Create(t.Context(), aws))
	cluster := f.cluster("c1", ofKind("AWSCluster"))

	report := f.report("c1", "FactsPending")
	if message := readyMessage(report); !strings.Contains(message, "AWSCluster "+f.namespace+"/c1") || !strings.Contains(message, "vpcCIDR") {
		t.Errorf("the message names neither object nor fact: %s", message)
	}
	f.wantSecrets("c1", false, "a Secret was written before the VPC was known")

	modify(f, aws, func(u *unstructured.Unstructured) {
		f.must(unstructured.SetNestedField(u.Object, "10.0.0.0/16", "spec", "network", "vpc", "cidrBlock"))
	})
	// Foreign kinds are not watched; the next look is at most 15 seconds away, or
	// comes with any change of the Cluster.
	modify(f, cluster, func(c *clusterv1.Cluster) { c.Labels["fairlead.test/touched"] = "yes" })
	report = f.report("c1", "Applied")
	if facts := report.Status.Facts; facts == nil || facts.Values["vpcCIDR"][0] != "10.0.0.0/16" || len(facts.Missing) != 0 {
		t.Errorf("facts in the report: %+v", facts)
	}
	f.awaitNoProxy("c1", exampleMerged) // form Exact adds no provider facts
}

// Networks of nodes would leave NO_PROXY, and machines be rolled, because a role, an object or a CRD is gone for a while.
func TestFactsStayWhileTheirObjectCannotBeRead(t *testing.T) {
	tier.Full(t)
	f := newOwnFixture(t)
	f.must(f.cp.Apply(t.Context(), gcpCRD))
	f.exampleProxy(newestForm)
	object := f.gcpCluster("c1", "10.128.0.0/20")
	f.cluster("c1", ofKind("GCPCluster"))
	was := f.report("c1", "Applied")
	if !strings.Contains(was.Status.NoProxy.Go, "10.128.0.0/20") {
		t.Fatalf("the network is not in the list: %s", was.Status.NoProxy.Go)
	}
	f.machine("c1", "m-0", nil)
	values, systemd := f.secrets("c1")
	check := func(reason string) {
		t.Helper()
		f.awaitUnread("c1", reason)
		report := f.report("c1", "Applied")
		if report.Status.NoProxy.Go != was.Status.NoProxy.Go || report.Status.NoProxy.Any != was.Status.NoProxy.Any {
			t.Errorf("%s: the list is %s", reason, report.Status.NoProxy.Go)
		}
		if nowValues, nowSystemd := f.secrets("c1"); nowValues.ResourceVersion != values.ResourceVersion || nowSystemd.ResourceVersion != systemd.ResourceVersion {
			t.Errorf("%s: a Secret was written", reason)
		}
		f.awaitNodes("c1", 1, 0, 0, 0)
	}

	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "fairlead-provider-facts-builtin"}}
	const aggregated = "fairlead.io/aggregate-to-provider-facts"
	modify(f, role, func(r *rbacv1.ClusterRole) { delete(r.Labels, aggregated) })
	check(v1alpha1.ReasonForbidden)
	modify(f, role, func(r *rbacv1.ClusterRole) { metav1.SetMetaDataLabel(&r.ObjectMeta, aggregated, "true") })
	f.must(f.client.Delete(t.Context(), object))
	check(v1alpha1.ReasonObjectNotFound)
	kind := objectOf("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "gcpclusters.infrastructure.cluster.x-k8s.io")
	f.must(f.client.Delete(t.Context(), kind))
	check(v1alpha1.ReasonKindNotInstalled)

	f.must(f.cp.Apply(t.Context(), gcpCRD))
	f.gcpCluster("c1", "10.132.0.0/20")
	f.awaitUnread("c1", "")
	if list := f.report("c1", "Applied").Status.NoProxy.Go; !strings.Contains(list, "10.132.0.0/20") || strings.Contains(list, "10.128.0.0/20") {
		t.Errorf("the object was read, and the list is %s", list)
	}
}

// awaitUnread asks for another attempt to read the facts until the report has the condition with this reason, or
// without one, no condition: the API server takes a moment to notice what may be read.
func (f *fixture) awaitUnread(cluster, reason string) {
	f.Helper()
	attempt := 0
	controlplanetest.Await(f, "FactsUnread with reason "+reason, func(context.Context) (bool, error) {
		attempt++
		report := f.reapply(cluster, fmt.Sprint("facts ", reason, attempt))
		condition := conditionOf(report.Status.Conditions, v1alpha1.ConditionFactsUnread)
		is := condition.Reason == reason && (condition.Type == "" || condition.Status == metav1.ConditionTrue)
		return controlplanetest.Holds(is, "conditions: %+v", report.Status.Conditions)
	})
}

func (f *fixture) gcpCluster(name, network string) *unstructured.Unstructured {
	f.Helper()
	object := objectOf("infrastructure.cluster.x-k8s.io/v1beta1", "GCPCluster", f.namespace, name)
	f.must(unstructured.SetNestedSlice(object.Object, []any{map[string]any{"cidrBlock": network}}, "spec", "network", "subnets"))
	controlplanetest.Await(f, "GCPCluster "+name, func(ctx context.Context) (bool, error) {
		return true, f.client.Create(ctx, object.DeepCopy()) // the client looks kinds up, and a CRD takes a moment
	})
	return object
}

func TestAUsersRowAndClusterRoleTeachAProviderOfTheirs(t *testing.T) {
	tier.Full(t)
	f := newOwnFixture(t)
	f.must(f.cp.Apply(t.Context(), crd("acme.example", "AcmeCluster", "v1")))
	f.exampleProxy()
	acme := objectOf("acme.example/v1", "AcmeCluster", f.namespace, "c1")
	f.must(unstructured.SetNestedStringSlice(acme.Object, []string{"10.9.0.0/16"}, "spec", "networks"))
	f.must(f.client.Create(t.Context(), acme))
	f.must(f.cp.Apply(t.Context(), []byte(acmeRow)))
	f.cluster("c1", ofKind("AcmeCluster"), func(c *clusterv1.Cluster) { c.Spec.InfrastructureRef.APIGroup = "acme.example" })
	report := f.report("c1", "FactsPending")
	if problems := report.Status.Facts.Problems; len(problems) == 0 || !strings.Contains(problems[0], "fairlead.io/aggregate-to-provider-facts") {
		t.Errorf("the report does not say how to let the operator read it: %v", problems)
	}

	f.must(f.cp.Apply(t.Context(), []byte(acmeRole)))
	report = f.report("c1", "Applied")
	if got := report.Status.Facts.Values["networks"]; len(got) != 1 || got[0] != "10.9.0.0/16" {
		t.Errorf("facts: %v", report.Status.Facts)
	}
}

// What the user applies: a row, and later the right to read what it names.
const (
	acmeRow = `
apiVersion: v1
kind: ConfigMap
metadata: {namespace: fairlead-system, name: acme, labels: {fairlead.io/provider-facts: "true"}}
data:
  acme.yaml: 'rows: [{group: acme.example, kind: AcmeCluster, facts: [{name: networks, paths: ["spec.networks[]"], required: true}]}]'
`
	acmeRole = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: acme-facts, labels: {fairlead.io/aggregate-to-provider-facts: "true"}}
rules: [{apiGroups: [acme.example], resources: [acmeclusters], verbs: [get]}]
`
)

// crd returns the CustomResourceDefinition of a kind with any content.
func crd(group, kind, version string) []byte {
	const text = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[3]s.%[1]s}
spec:
  group: %[1]s
  scope: Namespaced
  names: {kind: %[2]s, plural: %[3]s}
  versions:
  - name: %[4]s
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`
	return fmt.Appendf(nil, text, group, kind, strings.ToLower(kind)+"s", version)
}

var gcpCRD = crd("infrastructure.cluster.x-k8s.io", "GCPCluster", "v1beta1")

func ofKind(kind string) func(*clusterv1.Cluster) {
	return func(c *clusterv1.Cluster) { c.Spec.InfrastructureRef.Kind = kind }
}

func objectOf(apiVersion, kind, namespace, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetAPIVersion(apiVersion)
	u.SetKind(kind)
	u.SetNamespace(namespace)
	u.SetName(name)
	return u
}
