package clusterapi_test

import (
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/e2e/clusterapi"
)

// kubeadmExamples are those whose bootstrap data the kubeadm provider makes, and its format.
var kubeadmExamples = map[string]string{
	"kubeadm-debian.yaml":        "cloud-config",
	"kubeadm-debian-relay.yaml":  "cloud-config",
	"kubeadm-inline.yaml":        "cloud-config",
	"kubeadm-flatcar.yaml":       "ignition",
	"kubeadm-flatcar-relay.yaml": "ignition",
}

// The way is the whole one: webhooks, controllers of the core and of both kubeadm providers, and the operator. Only
// vSphere is played, and no machine comes up.
func TestTheKubeadmExamplesGiveTheFirstMachineItsFiles(t *testing.T) {
	for example, format := range kubeadmExamples {
		t.Run(example, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t)
			f.apply(vsphere, vsphereCluster, filepath.Join(examples, example))
			f.provision()
			f.wantFiles(format)
		})
	}
}

// wantFiles requires that the first machine of mycluster gets bootstrap data, and in it all files that its
// KubeadmConfig takes from the Secret, as they are there.
func (f *fleet) wantFiles(format string) {
	f.Helper()
	// Of the machine that the control plane provider makes first.
	config := &awaitOnly(f, &bootstrapv1.KubeadmConfigList{}, client.HasLabels{clusterv1.MachineControlPlaneLabel}).Items[0]
	data := f.awaitData(config)
	if data.Format != format {
		f.Errorf("the bootstrap data is %s, want %s", data.Format, format)
	}
	files, err := data.Files()
	f.must(err)
	secret := &corev1.Secret{}
	f.must(f.client.Get(f.Context(), client.ObjectKey{Namespace: f.namespace, Name: "mycluster-systemd-proxy"}, secret))
	lists := 0
	for _, want := range config.Spec.Files {
		content := string(secret.Data[plain(want.ContentFrom.Secret.Key)])
		if got := files[want.Path]; got != (clusterapi.File{want.Permissions, want.Owner, content}) {
			f.Errorf("%s is %+v\nwant the Secret's %s:\n%s", want.Path, got, want.ContentFrom.Secret.Key, content)
		}
		if strings.Contains(content, "NO_PROXY=") {
			wantMerged(f, content)
			lists++
		}
	}
	if lists == 0 {
		f.Error("no file has a NO_PROXY")
	}
}
