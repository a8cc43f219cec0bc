package docs_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/kind/pkg/apis/config/v1alpha4"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/helm"
	"github.com/fairlead-io/fairlead/e2e/tools"
)

// kindPrograms are what examples/kind/try.sh calls. Here is no container engine: each is a stand-in that writes down how it is called,
// and answers what the script reads.
var kindPrograms = map[string]string{
	"docker": `case "$*" in
network*) printf '172.18.0.0/16\nfc00::/64\n' ;;
inspect*) echo 172.18.0.9 ;;
esac`,
	"kind":    `[ "$*" != "get clusters" ] || echo "$KIND_HAS"`,
	"kubectl": "", "clusterctl": "", "make": "", "helm": "",
}

func TestTheScriptForKindCallsItsProgramsInOrder(t *testing.T) {
	dir := checkout(t)
	bin, calls, configs := t.TempDir(), filepath.Join(t.TempDir(), "calls"), filepath.Join(t.TempDir(), "configs")
	for program, answers := range kindPrograms {
		script := fmt.Sprintf("#!/bin/sh\necho \"%s $*\" >>%s\necho \"$KUBECONFIG\" >>%s\n%s\n", program, calls, configs, answers)
		controlplanetest.Require(t, os.WriteFile(filepath.Join(bin, program), []byte(script), 0o755))
	}
	has := "fairlead-try"
	try := func(verb string) (string, error) {
		_ = os.Remove(calls)
		cmd := exec.CommandContext(t.Context(), filepath.Join(dir, "examples", "kind", "try.sh"), verb)
		cmd.Env = []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "KUBECONFIG=/somebody/else", "KIND_HAS=" + has}
		if out, err := cmd.CombinedOutput(); err != nil {
			return string(out), err
		}
		called, err := os.ReadFile(calls)
		return string(called), err
	}
	for verb, want := range map[string][]string{
		"up": {
			"kind create cluster --name fairlead-try --kubeconfig ", "docker run --detach", "clusterctl init --infrastructure docker", "make image",
			"kind load image-archive .cache/images/fairlead-operator.tar", "helm upgrade --install fairlead charts/fairlead",
			"--set proxy.http=http://demo:demo-password@172.18.0.9:3128", "--set proxy.noProxy={172.18.0.0/16}\n", "kubectl wait corporateproxy default",
		},
		"cluster": {"kind export kubeconfig --name fairlead-try", "kubectl create namespace org-acme", "kubectl apply --filename examples/providers/docker.yaml", "kubectl wait proxyreport mycluster"},
		"down":    {"kind get clusters", "kind export kubeconfig --name fairlead-try", "kubectl delete cluster mycluster", "kind delete cluster --name fairlead-try", "docker rm --force"},
	} {
		called, err := try(verb)
		if err != nil {
			t.Errorf("%s: %v\n%s", verb, err, called)
			continue
		}
		rest := called
		for _, call := range want {
			_, after, found := strings.Cut(rest, call)
			if !found {
				t.Errorf("%s: %q is not called, or not in its turn:\n%s", verb, call, called)
				break
			}
			rest = after
		}
	}
	has = "my-fairlead-try\nfairlead-try-2"
	if called, err := try("down"); err != nil || strings.Contains(called, "kubectl") || strings.Contains(called, "kind delete") || !strings.Contains(called, "docker rm") {
		t.Errorf("without its cluster: %v\n%s", err, called)
	}
	used := controlplanetest.ReadFile(t, configs)
	for config := range strings.FieldsSeq(string(used)) {
		if config != filepath.Join(dir, ".cache", "fairlead-try.kubeconfig") {
			t.Errorf("a program uses %s", config)
		}
	}
}

func TestShellcheckFindsNothingInTheScriptForKind(t *testing.T) {
	path, err := exec.LookPath("shellcheck")
	if err != nil {
		controlplanetest.Require(t, errors.Join(tools.ErrUnavailable, err))
	}
	if out, err := exec.CommandContext(t.Context(), path, filepath.Join(root, "examples", "kind", "try.sh")).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// e2e/provider hands the cluster's manifests to an API server.
func TestWhatTheScriptForKindReadsIsTaken(t *testing.T) {
	folder := filepath.Join(root, "examples", "kind")
	values := controlplanetest.ReadFile(t, filepath.Join(folder, "values.yaml"))
	rendered, err := helm.Template(t.Context(), helm.Release{
		Chart: filepath.Join(root, "charts", "fairlead"), Name: "fairlead", Namespace: "fairlead-system",
		Values: []any{values, map[string]any{"proxy": map[string]any{"http": "http://demo:demo-password@172.18.0.9:3128", "noProxy": []string{"172.18.0.0/16"}}}},
	})
	controlplanetest.Require(t, err)
	if !strings.Contains(string(rendered), "base64Twins: true") {
		t.Error("the CorporateProxy is not as the values say")
	}
	config := controlplanetest.ReadFile(t, filepath.Join(folder, "kind.yaml"))
	var cluster v1alpha4.Cluster
	if err := yaml.UnmarshalStrict(config, &cluster); err != nil || cluster.APIVersion != "kind.x-k8s.io/v1alpha4" || cluster.Nodes[0].ExtraMounts[0].HostPath == "" {
		t.Errorf("kind.yaml: %v, %+v", err, cluster)
	}
	squid, err := exec.LookPath("/usr/sbin/squid")
	if err != nil {
		controlplanetest.Require(t, errors.Join(tools.ErrUnavailable, err))
	}
	config = controlplanetest.ReadFile(t, filepath.Join(folder, "squid.conf"))
	users, err := filepath.Abs(filepath.Join(folder, "users"))
	controlplanetest.Require(t, err)
	here := filepath.Join(t.TempDir(), "squid.conf")
	controlplanetest.Require(t, os.WriteFile(here, []byte(strings.ReplaceAll(string(config), "/etc/squid/users", users)), 0o600))
	if out, err := exec.CommandContext(t.Context(), squid, "-k", "parse", "-f", here).CombinedOutput(); err != nil || strings.Contains(string(out), "ERROR") || strings.Contains(string(out), "FATAL") {
		t.Errorf("squid: %v\n%s", err, out)
	}
	helper := exec.CommandContext(t.Context(), "/usr/lib/squid/basic_ncsa_auth", users)
	helper.Stdin = strings.NewReader("demo demo-password\ndemo wrong\n")
	if out, err := helper.Output(); err != nil || !strings.HasPrefix(string(out), "OK") || !strings.Contains(string(out), "\nERR") {
		t.Errorf("the account: %v, %q", err, out)
	}
}
