package mutate_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/helm"
)

// plugin is the first YAML block of docs/how-to/mutate.md.
func plugin(t *testing.T) string {
	t.Helper()
	doc := controlplanetest.ReadFile(t, "../../docs/how-to/mutate.md")
	_, after, isThere := strings.Cut(string(doc), "\n```yaml\n")
	block, _, isWhole := strings.Cut(after, "\n```\n")
	if !isThere || !isWhole {
		t.Fatal("the page shows no plugin")
	}
	return block
}

const chart = `apiVersion: apps/v1
kind: Deployment
metadata: {name: frpc}
spec:
  template:
    metadata:
      labels: {app: frpc} # ours
    spec: {containers: [{name: frpc, image: "frpc:0.61.0"}]}
---
apiVersion: batch/v1
kind: Job
metadata: {name: first, annotations: {helm.sh/hook: pre-install}}
spec: {template: {metadata: {labels: {app: frpc}}, spec: {restartPolicy: Never, containers: [{name: frpc, image: x}]}}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: other}
data: {a: "1"}
`

// The plugin of the document, in the real Helm.
func TestHelmTakesTheCommandAsAPostRenderer(t *testing.T) {
	fairlead := controlplanetest.Program(t, "fairlead")
	dir := t.TempDir()
	for name, content := range map[string]string{
		"plugins/fairlead/plugin.yaml": plugin(t),
		"chart/Chart.yaml":             "apiVersion: v2\nname: agent\nversion: 1.0.0\n",
		"chart/templates/all.yaml":     chart,
	} {
		file := filepath.Join(dir, name)
		controlplanetest.Require(t, os.MkdirAll(filepath.Dir(file), 0o700))
		controlplanetest.Require(t, os.WriteFile(file, []byte(content), 0o600))
	}
	path, err := filepath.Abs(filepath.Dir(fairlead))
	controlplanetest.Require(t, err)
	t.Setenv("PATH", path+string(filepath.ListSeparator)+os.Getenv("PATH"))
	t.Setenv("HELM_PLUGINS", filepath.Join(dir, "plugins"))
	template := []string{"template", "x", filepath.Join(dir, "chart"), "--post-renderer", "fairlead", "--post-renderer-args", "--require"}
	rendered, err := helm.Run(t.Context(), template...)
	controlplanetest.Require(t, err)
	if out := string(rendered); strings.Count(out, "key: HTTPS_PROXY") != 2 || !strings.Contains(out, "labels: {app: frpc} # ours") {
		t.Errorf("the Deployment and the hook have not both got the variables: %s", out)
	}
	// Without its status, Helm would complain of empty output.
	_, err = helm.Run(t.Context(), append(template, "--post-renderer-args", "--policy=tunnel-rancher")...)
	if err == nil || !strings.Contains(err.Error(), "exited with error") {
		t.Errorf("an argument does not reach the command, or its status does not reach Helm: %v", err)
	}
}
