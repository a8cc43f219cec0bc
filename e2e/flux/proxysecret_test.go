package flux_test

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/fluxcd/pkg/runtime/secrets"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/e2e/tools"
)

// Flux's controllers read proxySecretRef with this library. Building source-controller takes longer than what it proves.
func TestFluxReadsTheSecretForItsSources(t *testing.T) {
	fairlead, err := tools.Program(t.Context(), "fairlead")
	if err != nil {
		t.Fatal(err)
	}
	values := filepath.Join("..", "..", "examples", "secret-values.yaml")
	cmd := exec.CommandContext(t.Context(), fairlead, "render", "--values", values,
		"--cluster", filepath.Join("..", "..", "examples", "cluster.yaml"), "-o", "flux-proxy-secret")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	secret := &corev1.Secret{}
	if err := yaml.UnmarshalStrict(bytes.TrimPrefix(out, []byte("---\n")), secret); err != nil {
		t.Fatal(err)
	}
	got, err := secrets.ProxyURLFromSecret(t.Context(), secret)
	if err != nil {
		t.Fatal(err)
	}
	if want := "http://myProxyUser:mySuperSecretPassword@192.168.52.220:3128"; got.String() != want {
		t.Errorf("Flux's proxy is %s, not %s", got, want)
	}
}
