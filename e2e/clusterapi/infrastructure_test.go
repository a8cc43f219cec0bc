package clusterapi_test

import (
	"context"
	"fmt"
	"path/filepath"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/tools"
)

// The infrastructure of the examples is vSphere. Its CRDs are real; its controller cannot run here, for want of
// a vSphere, and the test says what it would say.
const (
	vsphereModule = "sigs.k8s.io/cluster-api-provider-vsphere"
	vsphereCRDs   = "config/default/crd/bases"
	vsphereAPI    = "infrastructure.cluster.x-k8s.io/v1beta2"
)

// installInfrastructure installs the CRDs of vSphere.
func installInfrastructure(ctx context.Context, cp *controlplane.ControlPlane) error {
	module, err := tools.ModuleDir(ctx, "provider-crds", vsphereModule)
	if err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(module, filepath.FromSlash(vsphereCRDs), "*.yaml"))
	if err != nil {
		return err
	}
	var crds []*unstructured.Unstructured
	for _, file := range files {
		parsed, err := readManifest(file)
		if err != nil {
			return err
		}
		for _, crd := range parsed {
			// As its kustomization adds.
			crd.SetLabels(map[string]string{"cluster.x-k8s.io/v1beta1": "v1beta1", "cluster.x-k8s.io/v1beta2": "v1beta2"})
			crds = append(crds, crd)
		}
	}
	return cp.ApplyObjects(ctx, crds...)
}

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
	clusters.SetKind("VSphereCluster")
	f.setProvisioned(&awaitOnly(f, clusters).Items[0], `{"controlPlaneEndpoint":{"host":"`+endpointHost+`","port":6443}}`)
}
