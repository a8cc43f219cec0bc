package clusterapi_test

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
)

// vsphereCRDs are the kinds of the infrastructure of the examples, with the labels that their kustomization adds. They are real;
// their controller cannot run here, for want of a vSphere, and the test says what it would say.
var vsphereCRDs = controlplane.Content{
	Name: "vsphere", Labels: map[string]string{"cluster.x-k8s.io/v1beta1": "v1beta1", "cluster.x-k8s.io/v1beta2": "v1beta2"},
	Read: controlplane.FromModule("provider-crds", "sigs.k8s.io/cluster-api-provider-vsphere", "config/default/crd/bases"),
}

const vsphereAPI = "infrastructure.cluster.x-k8s.io/v1beta2"

// vsphere is what the examples refer to, vsphereCluster the cluster's object of those without a class.
const (
	vsphere        = "testdata/vsphere.yaml"
	vsphereCluster = "testdata/vspherecluster.yaml"
)

// setProvisioned plays the provider: the object has this spec, and the infrastructure is there.
func (f *fleet) setProvisioned(object *unstructured.Unstructured, spec string) {
	f.Helper()
	f.must(f.client.Patch(f.Context(), object, merge(`{"spec":%s}`, spec)))
	f.must(f.client.Status().Patch(f.Context(), object, merge(`{"status":{"initialization":{"provisioned":true}}}`)))
}

// named is an object of this test's namespace, by its name alone.
func (f *fleet) named(apiVersion, kind, name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetAPIVersion(apiVersion)
	object.SetKind(kind)
	object.SetNamespace(f.namespace)
	object.SetName(name)
	return object
}

// merge is a merge patch.
func merge(format string, args ...any) client.Patch {
	return client.RawPatch(types.MergePatchType, fmt.Appendf(nil, format, args...))
}

// provision plays the vSphere provider: the control-plane endpoint is known, and the infrastructure is there.
func (f *fleet) provision() {
	f.Helper()
	clusters := &unstructured.UnstructuredList{}
	clusters.SetAPIVersion(vsphereAPI)
	clusters.SetKind("VSphereClusterList")
	f.setProvisioned(&awaitOnly(f, clusters).Items[0], `{"controlPlaneEndpoint":{"host":"`+endpointHost+`","port":6443}}`)
}
