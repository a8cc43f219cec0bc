package clusterapi_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/tier"
)

func TestTheClusterClassExampleGivesEachClusterItsOwnSecret(t *testing.T) {
	tier.Full(t)
	t.Parallel()
	f := newFleet(t)
	f.apply(vsphere, filepath.Join(examples, "clusterclass.yaml"))

	controlPlane := f.awaitTopology()
	f.wantOwnSecret("the KubeadmControlPlane", controlPlane.Spec.KubeadmConfigSpec.Files)
	f.wantOwnSecret("the KubeadmConfigTemplate of the workers", f.workersTemplate().Spec.Template.Spec.Files)
	f.provision()
	f.wantFiles("cloud-config")
}

// wantOwnSecret requires the files of kubeadm-debian.yaml that every machine has, from the Secret of mycluster.
func (f *fleet) wantOwnSecret(of string, files []bootstrapv1.File) {
	f.Helper()
	if len(files) != 3 {
		f.Errorf("%s has %d files, want 3", of, len(files))
	}
	for _, file := range files {
		if got := file.ContentFrom.Secret.Name; got != "mycluster-systemd-proxy" {
			f.Errorf("%s takes %s from Secret %q", of, file.Path, got)
		}
	}
}

// The warning in the example: with files/- instead, and nothing in files.
func TestAppendingToFilesThatATemplateLacksStopsTheTopology(t *testing.T) {
	tier.Full(t)
	t.Parallel()
	f := newFleet(t)
	f.apply(vsphere)
	objects := f.example("clusterclass.yaml")
	for _, object := range objects {
		f.must(walk(object.Object, func(patch map[string]any) {
			if path := text(patch, "path"); strings.HasSuffix(path, "/files") {
				patch["path"] = path + "/-"
				patch["valueFrom"] = map[string]any{"template": "{path: /etc/fairlead/proxy.env, content: x}"}
			}
		}))
	}
	f.must(f.create(objects...))
	awaitObject(f, "the topology to say why it stops", &clusterv1.Cluster{}, "mycluster", func(cluster *clusterv1.Cluster) (bool, error) {
		condition := meta.FindStatusCondition(cluster.Status.Conditions, clusterv1.ClusterTopologyReconciledCondition)
		return controlplanetest.Holds(condition != nil && strings.Contains(condition.Message, "files/-"), "condition: %+v", condition)
	})
	list := &controlplanev1.KubeadmControlPlaneList{}
	f.must(f.client.List(t.Context(), list, client.InNamespace(f.namespace)))
	if len(list.Items) != 0 {
		t.Error("there is a control plane all the same")
	}
}

// awaitTopology awaits what the topology controller makes of the class.
func (f *fleet) awaitTopology() *controlplanev1.KubeadmControlPlane {
	f.Helper()
	return &awaitOnly(f, &controlplanev1.KubeadmControlPlaneList{}).Items[0]
}

// workersTemplate is the one that the topology controller makes from the class's, which has no owner of its kind.
func (f *fleet) workersTemplate() *bootstrapv1.KubeadmConfigTemplate {
	f.Helper()
	deployments := awaitOnly(f, &clusterv1.MachineDeploymentList{})
	template := &bootstrapv1.KubeadmConfigTemplate{}
	name := deployments.Items[0].Spec.Template.Spec.Bootstrap.ConfigRef.Name
	f.must(f.client.Get(f.Context(), client.ObjectKey{Namespace: f.namespace, Name: name}, template))
	return template
}

// awaitOnly awaits the only object of a kind in this test's namespace.
func awaitOnly[L client.ObjectList](f *fleet, list L, options ...client.ListOption) L {
	f.Helper()
	kind, err := f.client.GroupVersionKindFor(list)
	f.must(err)
	controlplanetest.Await(f, "one in the "+kind.Kind, func(ctx context.Context) (bool, error) {
		if err := f.client.List(ctx, list, append(options, client.InNamespace(f.namespace))...); err != nil {
			return false, err
		}
		n := meta.LenList(list)
		return controlplanetest.Holds(n == 1, "there are %d", n)
	})
	return list
}
