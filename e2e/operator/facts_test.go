package operator_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/e2e/operator"
	"github.com/fairlead-io/fairlead/e2e/tools"
)

func TestAClusterOnAWSWaitsForItsVPCAndKeepsWhatWasRead(t *testing.T) {
	f := newFixture(t)
	f.installAWSCluster()
	f.exampleProxy()
	aws := infrastructure("infrastructure.cluster.x-k8s.io/v1beta2", "AWSCluster", f.namespace, "c1")
	f.must(unstructured.SetNestedField(aws.Object, "eu-central-1", "spec", "region"))
	f.must(f.client.Create(t.Context(), aws))
	cluster := f.cluster("c1", ofKind("AWSCluster"))

	report := f.report("c1", "FactsPending")
	if message := readyMessage(report); !strings.Contains(message, "AWSCluster "+f.namespace+"/c1") || !strings.Contains(message, "vpcCIDR") {
		t.Errorf("the message names neither object nor fact: %s", message)
	}
	if values, systemd := f.secrets("c1"); values != nil || systemd != nil {
		t.Fatal("a Secret was written before the VPC was known")
	}

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

func TestAnInfrastructureObjectThatIsAbsentIsTolerated(t *testing.T) {
	f := newFixture(t)
	f.exampleProxy()
	f.cluster("c1", ofKind("GCPCluster"))
	report := f.report("c1", "Applied")
	if facts := report.Status.Facts; facts == nil || len(facts.Problems) != 1 || !strings.Contains(facts.Problems[0], "GCPCluster") {
		t.Errorf("the report does not say that there is none: %+v", facts)
	}
}

func TestAUsersRowAndClusterRoleTeachAProviderOfTheirs(t *testing.T) {
	f := newOwnFixture(t)
	f.must(f.cp.Apply(t.Context(), []byte(acmeCRD)))
	f.exampleProxy()
	acme := infrastructure("acme.example/v1", "AcmeCluster", f.namespace, "c1")
	f.must(unstructured.SetNestedStringSlice(acme.Object, []string{"10.9.0.0/16"}, "spec", "networks"))
	f.must(f.client.Create(t.Context(), acme))
	f.must(f.client.Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: operator.Namespace, Name: "acme", Labels: map[string]string{v1alpha1.ProviderFactsLabel: "true"}},
		Data:       map[string]string{"acme.yaml": acmeRow},
	}))
	inAcme := func(c *clusterv1.Cluster) {
		c.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{APIGroup: "acme.example", Kind: "AcmeCluster", Name: "c1"}
	}
	f.cluster("c1", inAcme)
	report := f.report("c1", "FactsPending")
	if problems := report.Status.Facts.Problems; len(problems) == 0 || !strings.Contains(problems[0], "fairlead.io/aggregate-to-provider-facts") {
		t.Errorf("the report does not say how to let the operator read it: %v", problems)
	}

	f.must(f.client.Create(t.Context(), &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "acme-facts", Labels: map[string]string{"fairlead.io/aggregate-to-provider-facts": "true"}},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{"acme.example"}, Resources: []string{"acmeclusters"}, Verbs: []string{"get"}}},
	}))
	report = f.report("c1", "Applied")
	if got := report.Status.Facts.Values["networks"]; len(got) != 1 || got[0] != "10.9.0.0/16" {
		t.Errorf("facts: %v", report.Status.Facts)
	}
}

func TestAUsersRowThatCannotBeReadIsNamed(t *testing.T) {
	f := newOwnFixture(t)
	f.must(f.client.Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: operator.Namespace, Name: "acme", Labels: map[string]string{v1alpha1.ProviderFactsLabel: "true"}},
		Data:       map[string]string{"acme.yaml": strings.ReplaceAll(acmeRow, "paths", "path")},
	}))
	f.exampleProxy()
	f.cluster("c1")
	if message := readyMessage(f.report("c1", "InvalidProviderFacts")); !strings.Contains(message, "ConfigMap acme: data.acme.yaml") || !strings.Contains(message, "path") {
		t.Errorf("the message does not name the ConfigMap: %s", message)
	}
}

const acmeRow = `
rows:
- group: acme.example
  kind: AcmeCluster
  facts:
  - name: networks
    paths: ["spec.networks[]"]
    required: true
`

const acmeCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: acmeclusters.acme.example}
spec:
  group: acme.example
  scope: Namespaced
  names: {kind: AcmeCluster, plural: acmeclusters}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

func ofKind(kind string) func(*clusterv1.Cluster) {
	return func(c *clusterv1.Cluster) { c.Spec.InfrastructureRef.Kind = kind }
}

func infrastructure(apiVersion, kind, namespace, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetAPIVersion(apiVersion)
	u.SetKind(kind)
	u.SetNamespace(namespace)
	u.SetName(name)
	return u
}

// installAWSCluster installs the real CRD of the AWS provider.
func (f *fixture) installAWSCluster() {
	f.Helper()
	dir, err := tools.ModuleDir(f.Context(), "provider-crds", "sigs.k8s.io/cluster-api-provider-aws/v2")
	f.must(err)
	crd, err := os.ReadFile(filepath.Join(dir, "config/crd/bases/infrastructure.cluster.x-k8s.io_awsclusters.yaml"))
	f.must(err)
	f.must(f.cp.Apply(f.Context(), crd))
}
