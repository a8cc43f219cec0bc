package charts_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/helm"
	"github.com/fairlead-io/fairlead/e2e/tools"
)

// Helm installs crds/ and leaves them alone from then on. An operator that writes fields which the API server drops
// would be the end of it, so that an upgrade says first what to do, and that works.
func TestAnUpgradeWithOtherCRDsFailsAndNamesTheCommandThatHelps(t *testing.T) {
	cp := controlplanetest.Shared(t)
	run := func(verb string, args ...string) error {
		t.Setenv("KUBECACHEDIR", t.TempDir()) // another test may have had the port before
		_, err := helm.Run(t.Context(), append([]string{verb, "fairlead", "--kubeconfig", cp.AdminKubeconfig(), "--namespace", "fairlead-system"}, args...)...)
		return err
	}
	file := valuesFile(t, values{"proxy": proxy("http://me:"+s3cret+"@proxy.example:3128", "", "a")})
	older, newer := olderChart(t), chartFolder("fairlead")

	controlplanetest.Require(t, run("install", older, "--create-namespace", "--values", file))
	// The CRDs as the API server has stored them are those of the same chart.
	controlplanetest.Require(t, run("upgrade", older, "--values", file))

	err := run("upgrade", newer, "--values", file)
	if err == nil {
		t.Fatal("upgraded, with CRDs that the new operator does not know")
	}
	for _, want := range []string{"corporateproxies.fairlead.io", "helm show crds", "kubectl apply --server-side --force-conflicts -f -"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("does not say %q: %v", want, err)
		}
	}
	if strings.Contains(err.Error(), s3cret) {
		t.Errorf("shows the password: %v", err)
	}

	controlplanetest.Require(t, run("upgrade", newer, "--values", file, "--set", "checkCRDs=false", "--dry-run=server"))

	applyCRDs(t, cp, newer)
	controlplanetest.Await(t, "the upgrade", func(context.Context) (bool, error) {
		err := run("upgrade", newer, "--values", file)
		return err == nil, err
	})
	if err := run("upgrade", older, "--values", file); err == nil {
		t.Error("an older operator is installed on newer CRDs")
	}
}

// olderChart is the chart before CorporateProxies had a field node.
func olderChart(t *testing.T) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "fairlead")
	run(t, chartFolder("fairlead"), "cp", "--recursive", "--dereference", ".", folder)
	file := filepath.Join(folder, "crds", "fairlead.io_corporateproxies.yaml")
	before := read(t, file)
	after := bytes.Replace(before, []byte("\n              node:\n"), []byte("\n              machine:\n"), 1)
	if bytes.Equal(before, after) {
		t.Fatal("the CRD is not as it was")
	}
	if err := os.WriteFile(file, after, 0o600); err != nil {
		t.Fatal(err)
	}
	return folder
}

// applyCRDs does what the message says.
func applyCRDs(t *testing.T, cp *controlplane.ControlPlane, chart string) {
	t.Helper()
	crds, err := helm.Run(t.Context(), "show", "crds", chart)
	controlplanetest.Require(t, err)
	kubectl, err := tools.Build(t.Context(), tools.Kubectl, os.Stderr)
	controlplanetest.Require(t, err)
	command := exec.CommandContext(t.Context(), kubectl, "apply", "--kubeconfig", cp.AdminKubeconfig(), "--server-side", "--force-conflicts", "-f", "-")
	command.Stdin = bytes.NewReader(crds)
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}
