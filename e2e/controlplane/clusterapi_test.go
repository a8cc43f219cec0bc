package controlplane_test

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
)

func TestClusterAPIIsServedInBothVersions(t *testing.T) {
	cp := controlplanetest.Shared(t)
	controlplanetest.Require(t, cp.Install(t.Context(), controlplane.ClusterAPI))
	namespace := controlplanetest.Namespace(t, cp)
	controlplanetest.Require(t, cp.Apply(t.Context(), []byte(`
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: c1, namespace: `+namespace+`}
spec:
  clusterNetwork: {pods: {cidrBlocks: [100.96.0.0/11]}}
  controlPlaneEndpoint: {host: 178.170.32.59, port: 6443}
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: AnyCluster, name: c1}
`)))

	objects, err := dynamic.NewForConfig(cp.Admin())
	controlplanetest.Require(t, err)
	for _, version := range []string{"v1beta1", "v1beta2"} {
		clusters := schema.GroupVersionResource{Group: "cluster.x-k8s.io", Version: version, Resource: "clusters"}
		cluster, err := objects.Resource(clusters).Namespace(namespace).Get(t.Context(), "c1", metav1.GetOptions{})
		if err != nil {
			t.Errorf("in %s: %v", version, err)
			continue
		}
		if got := cluster.GroupVersionKind().Version; got != version {
			t.Errorf("asked for %s, got %s", version, got)
		}
	}
}

func TestTheCRDsOfClusterAPICarryTheContractLabels(t *testing.T) {
	cp := controlplanetest.Shared(t)
	controlplanetest.Require(t, cp.Install(t.Context(), controlplane.ClusterAPI))
	objects, err := dynamic.NewForConfig(cp.Admin())
	controlplanetest.Require(t, err)
	crds := objects.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	for _, name := range []string{
		"clusters.cluster.x-k8s.io",
		"machines.cluster.x-k8s.io",
		"kubeadmconfigs.bootstrap.cluster.x-k8s.io",
		"kubeadmcontrolplanes.controlplane.cluster.x-k8s.io",
	} {
		crd, err := crds.Get(t.Context(), name, metav1.GetOptions{})
		controlplanetest.Require(t, err)
		for _, version := range []string{"v1beta1", "v1beta2"} {
			if got := crd.GetLabels()["cluster.x-k8s.io/"+version]; got != version {
				t.Errorf("%s fulfils contract %s in version %q", name, version, got)
			}
		}
	}
}

func TestApplyTakesACRDAndAnObjectOfItInOneManifest(t *testing.T) {
	cp := controlplanetest.Shared(t)
	controlplanetest.Require(t, cp.Apply(t.Context(), []byte(`# an object before its kind and its namespace
apiVersion: rope.example/v1
kind: Knot
metadata: {name: bowline, namespace: ship}
spec: {turns: 1}
---
# nothing but a comment
---
apiVersion: v1
kind: Namespace
metadata: {name: ship}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: knots.rope.example}
spec:
  group: rope.example
  names: {kind: Knot, plural: knots}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties: {spec: {type: object, properties: {turns: {type: integer}}}}
`)))
	objects, err := dynamic.NewForConfig(cp.Admin())
	controlplanetest.Require(t, err)
	knots := schema.GroupVersionResource{Group: "rope.example", Version: "v1", Resource: "knots"}
	if _, err := objects.Resource(knots).Namespace("ship").Get(t.Context(), "bowline", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
}

func TestApplySaysWhichObjectWasRefused(t *testing.T) {
	cp := controlplanetest.Shared(t)
	err := cp.Apply(t.Context(), []byte("{apiVersion: v1, kind: ConfigMap, metadata: {name: Not_A_Name}}"))
	if !apierrors.IsInvalid(err) {
		t.Fatalf("applying a bad name: %v, want invalid", err)
	}
	if want := "apply ConfigMap /Not_A_Name: "; err.Error()[:len(want)] != want {
		t.Errorf("the error does not name the object: %v", err)
	}
}
