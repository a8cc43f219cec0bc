package clusterapi_test

import (
	"context"
	"path/filepath"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/tools"
)

// The infrastructure of the examples is vSphere. Its CRDs are real; its controller cannot run here, for want of
// a vSphere, and the test says what it would say.
const (
	vsphereModule = "sigs.k8s.io/cluster-api-provider-vsphere"
	vsphereCRDs   = "config/default/crd/bases"
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

// infrastructure creates what the examples refer to.
func (f *fleet) infrastructure() {
	f.Helper()
	objects, err := readManifest("testdata/vsphere.yaml")
	f.must(err)
	f.must(f.create(objects...))
}

var vsphereClusters = schema.GroupVersionKind{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta2", Kind: "VSphereCluster"}

// provision plays the vSphere provider: the control-plane endpoint is known, and the infrastructure is there.
func (f *fleet) provision() {
	f.Helper()
	clusters := &unstructured.UnstructuredList{}
	clusters.SetGroupVersionKind(vsphereClusters)
	f.must(f.client.List(f.Context(), clusters, client.InNamespace(f.namespace)))
	if len(clusters.Items) != 1 {
		f.Fatalf("%d VSphereClusters", len(clusters.Items))
	}
	cluster := &clusters.Items[0]
	f.must(f.client.Patch(f.Context(), cluster, client.RawPatch("application/merge-patch+json",
		[]byte(`{"spec":{"controlPlaneEndpoint":{"host":"`+endpointHost+`","port":6443}}}`))))
	f.must(f.client.Status().Patch(f.Context(), cluster, client.RawPatch("application/merge-patch+json",
		[]byte(`{"status":{"initialization":{"provisioned":true}}}`))))
}
