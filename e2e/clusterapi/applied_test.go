package clusterapi_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/e2e/clusterapi"
)

func TestAnExampleWithAWrongFieldIsNotTaken(t *testing.T) {
	f := newFleet(t)
	objects := f.example("kubeadm-debian.yaml")
	at := slices.IndexFunc(objects, func(o *unstructured.Unstructured) bool { return o.GetKind() == "KubeadmConfigTemplate" })
	f.must(walk(objects[at].Object, func(node map[string]any) {
		if value, ok := node["secret"]; ok {
			delete(node, "secret")
			node["secretRef"] = value
		}
	}))
	if err := f.create(objects[at]); err == nil || !strings.Contains(err.Error(), `unknown field "spec.template.spec.files[0].contentFrom.secretRef"`) {
		t.Errorf("secretRef for secret: %v", err)
	}
}

// A certificate is for all to read; in everything else may be the password.
func TestEveryFileOfTheExamplesIsInTheSecretAndForRootAlone(t *testing.T) {
	f := newFleet(t)
	secrets := map[bool]*corev1.Secret{}
	for of, labels := range map[string]map[string]string{"kubeadm-debian.yaml": nil, "kubeadm-debian-relay.yaml": {"delivery": "relay"}} {
		cluster := f.cluster(strings.TrimSuffix(of, ".yaml"), labels)
		f.setEndpoint(cluster)
		f.must(clusterapi.SetInfrastructureProvisioned(t.Context(), f.client, cluster))
		secrets[withRelay(of)] = f.awaitSystemdSecret(cluster)
	}
	paths, err := filepath.Glob(filepath.Join(examples, "*.yaml"))
	f.must(err)
	if len(paths) == 0 {
		t.Fatal("no examples")
	}
	for _, path := range paths {
		example, total := filepath.Base(path), 0
		for _, object := range f.read(path) {
			files := f.proxyFiles(object)
			total += len(files)
			// Neither control planes nor workers are without. The patches of a ClusterClass add them.
			needs := example != "clusterclass.yaml" && slices.Contains([]string{"KubeadmControlPlane", "KubeadmConfigTemplate"}, object.GetKind())
			if needs && len(files) == 0 {
				t.Errorf("%s: %s %s takes no file from the Secret", example, object.GetKind(), object.GetName())
			}
			for _, file := range files {
				f.checkFile(example, file, secrets[withRelay(example)])
			}
		}
		if total == 0 && !strings.HasPrefix(example, "corporateproxy") {
			t.Errorf("%s takes no file from the Secret", example)
		}
	}
}

func (f *fleet) checkFile(example string, file proxyFile, secret *corev1.Secret) {
	f.Helper()
	if len(secret.Data[file.key]) == 0 {
		f.Errorf("%s: %s comes from %s, which the Secret lacks", example, file.path, file.key)
	}
	if twin := file.key != plain(file.key); twin != (file.encoding == "base64") {
		f.Errorf("%s: %s with encoding %q comes from %s", example, file.path, file.encoding, file.key)
	}
	want := "0600"
	if plain(file.key) == "trustedCA" || withRelay(example) && withoutPassword[plain(file.key)] {
		want = "0644"
	}
	if file.permissions != want {
		f.Errorf("%s: %s has %q, want %s", example, file.path, file.permissions, want)
	}
}

// withoutPassword are the keys that with a relay anybody may read.
var withoutPassword = map[string]bool{
	"containerdProxy": true, "kubeletProxy": true, "relayPolicy": true, "relaySocket": true, "relayService": true, "relayInstallService": true,
	"relayUpdatePath": true, "relayUpdateService": true,
}
