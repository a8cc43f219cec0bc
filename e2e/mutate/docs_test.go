package mutate_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/helm"
)

const root = "../.."

// blocks are those of docs/how-to/mutate.md in one language.
func blocks(t *testing.T, language string) []string {
	t.Helper()
	doc, err := os.ReadFile(filepath.Join(root, "docs", "how-to", "mutate.md"))
	controlplanetest.Require(t, err)
	var found []string
	for _, part := range strings.Split(string(doc), "\n```"+language+"\n")[1:] {
		block, _, _ := strings.Cut(part, "\n```\n")
		found = append(found, block)
	}
	return found
}

func TestTheDocumentShowsWhatTheCommandSays(t *testing.T) {
	fairlead, err := build()
	controlplanetest.Require(t, err)
	shown := blocks(t, "console")
	if len(shown) != 1 {
		t.Fatalf("%d commands are shown", len(shown))
	}
	for _, block := range shown {
		line, want, _ := strings.Cut(strings.TrimPrefix(block, "$ fairlead "), "\n")
		line, _, _ = strings.Cut(line, " >")
		command := exec.CommandContext(t.Context(), fairlead, strings.Fields(line)...)
		command.Dir = root
		var said strings.Builder
		command.Stderr = &said
		out, err := command.Output()
		controlplanetest.Require(t, err)
		if strings.TrimSpace(said.String()) != want {
			t.Errorf("%s says\n%s\nand not\n%s", line, &said, want)
		}
		if !strings.Contains(string(out), "key: HTTPS_PROXY") {
			t.Errorf("%s changes nothing: %s", line, out)
		}
	}
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
	fairlead, err := build()
	controlplanetest.Require(t, err)
	dir := t.TempDir()
	for name, content := range map[string]string{
		"plugins/fairlead/plugin.yaml": blocks(t, "yaml")[0],
		"chart/Chart.yaml":             "apiVersion: v2\nname: agent\nversion: 1.0.0\n",
		"chart/templates/all.yaml":     chart,
		"none/Chart.yaml":              "apiVersion: v2\nname: none\nversion: 1.0.0\n",
		"none/templates/all.yaml":      "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\n",
	} {
		file := filepath.Join(dir, name)
		controlplanetest.Require(t, os.MkdirAll(filepath.Dir(file), 0o700))
		controlplanetest.Require(t, os.WriteFile(file, []byte(content), 0o600))
	}
	path, err := filepath.Abs(filepath.Dir(fairlead))
	controlplanetest.Require(t, err)
	t.Setenv("PATH", path+string(filepath.ListSeparator)+os.Getenv("PATH"))
	t.Setenv("HELM_PLUGINS", filepath.Join(dir, "plugins"))
	template := func(chart string, args ...string) (string, error) {
		out, err := helm.Run(t.Context(), append([]string{"template", "x", filepath.Join(dir, chart)}, args...)...)
		return string(out), err
	}

	out, err := template("chart", "--post-renderer", "fairlead")
	controlplanetest.Require(t, err)
	if strings.Count(out, "key: HTTPS_PROXY") != 2 || !strings.Contains(out, "labels: {app: frpc} # ours") {
		t.Errorf("the Deployment and the hook have not both got the variables: %s", out)
	}
	out, err = template("chart", "--post-renderer", "fairlead", "--post-renderer-args", "--policy=tunnel-rancher")
	if err != nil || strings.Contains(out, "HTTPS_PROXY") {
		t.Errorf("arguments do not arrive: %v: %s", err, out)
	}
	if out, err := template("none", "--post-renderer", "fairlead"); err != nil || !strings.Contains(out, "name: other") {
		t.Errorf("a chart without agents: %v: %s", err, out)
	}
	if _, err := template("none", "--post-renderer", "fairlead", "--post-renderer-args", "--require"); err == nil {
		t.Error("the status does not reach Helm")
	}
}
