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
	objects, err := readExample("kubeadm-debian.yaml")
	f.must(err)
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
	for _, of := range []string{"kubeadm-debian.yaml", "kubeadm-debian-relay.yaml"} {
		cluster := f.clusterOf(of, strings.TrimSuffix(of, ".yaml"))
		f.setEndpoint(cluster)
		f.must(clusterapi.SetInfrastructureProvisioned(t.Context(), f.client, cluster))
		secrets[withRelay(of)] = f.awaitSystemdSecret(cluster)
	}
	for _, example := range exampleNames(f) {
		objects, err := readExample(example)
		f.must(err)
		files, err := proxyFiles(objects)
		f.must(err)
		if len(files) == 0 && !strings.HasPrefix(example, "corporateproxy") {
			t.Errorf("%s takes no file from the Secret", example)
		}
		if example != "clusterclass.yaml" { // its patches add them
			f.checkEachTakesFiles(example, objects)
		}
		for _, file := range files {
			if len(secrets[withRelay(example)].Data[file.key]) == 0 {
				t.Errorf("%s: %s comes from %s, which the Secret lacks", example, file.path, file.key)
			}
			if twin := file.key != plain(file.key); twin != (file.encoding == "base64") {
				t.Errorf("%s: %s with encoding %q comes from %s", example, file.path, file.encoding, file.key)
			}
			want := "0600"
			if plain(file.key) == "trustedCA" || withRelay(example) && withoutPassword[plain(file.key)] {
				want = "0644"
			}
			if file.permissions != want {
				t.Errorf("%s: %s has %q, want %s", example, file.path, file.permissions, want)
			}
		}
	}
}

// checkEachTakesFiles: neither control planes nor workers are without.
func (f *fleet) checkEachTakesFiles(example string, objects []*unstructured.Unstructured) {
	f.Helper()
	for _, object := range objects {
		if kind := object.GetKind(); kind != "KubeadmControlPlane" && kind != "KubeadmConfigTemplate" {
			continue
		}
		files, err := proxyFiles([]*unstructured.Unstructured{object})
		f.must(err)
		if len(files) == 0 {
			f.Errorf("%s: %s %s takes no file from the Secret", example, object.GetKind(), object.GetName())
		}
	}
}

// withoutPassword are the keys that with a relay anybody may read.
var withoutPassword = map[string]bool{
	"containerdProxy": true, "kubeletProxy": true, "relayPolicy": true, "relaySocket": true, "relayService": true, "relayInstallService": true,
	"relayUpdatePath": true, "relayUpdateService": true,
}

func exampleNames(f *fleet) (names []string) {
	f.Helper()
	paths, err := filepath.Glob(filepath.Join(examples, "*.yaml"))
	f.must(err)
	for _, path := range paths {
		names = append(names, filepath.Base(path))
	}
	if len(names) == 0 {
		f.Fatal("no examples")
	}
	return names
}
