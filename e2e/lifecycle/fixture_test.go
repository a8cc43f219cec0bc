// Package lifecycle_test takes both charts through their lives on a real API server, by the real Helm: a failed install,
// install, upgrade, rollback, uninstall and install again, with the programs running as their Deployments say. There is no
// kubelet: what it would do to a Deployment's pods, starting and stopping, the tests do.
package lifecycle_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/deployment"
	"github.com/fairlead-io/fairlead/e2e/helm"
	"github.com/fairlead-io/fairlead/e2e/process"
	"github.com/fairlead-io/fairlead/e2e/repository"
)

func TestMain(m *testing.M) { controlplanetest.Main(m) }

// Where both charts are installed.
const namespace = "fairlead-system"

type values = map[string]any

// release is one of a chart on a control plane.
type release struct {
	testing.TB
	cp     *controlplane.ControlPlane
	client client.Client // an administrator's, without cache
	chart  string
	name   string
}

func newRelease(t *testing.T, cp *controlplane.ControlPlane, chart string) *release {
	t.Helper()
	all := kruntime.NewScheme()
	for _, add := range []func(*kruntime.Scheme) error{clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme} {
		controlplanetest.Require(t, add(all))
	}
	c := controlplanetest.Client(t, cp.Admin(), all)
	t.Setenv("KUBECACHEDIR", t.TempDir()) // another test may have had the port before
	return &release{TB: t, cp: cp, client: c, chart: repository.Path("charts", chart), name: chart}
}

// helm runs a command of Helm on the release.
func (r *release) helm(verb string, args ...string) error {
	r.Helper()
	_, err := helm.Run(r.Context(), append([]string{
		verb, r.name, "--kubeconfig", r.cp.AdminKubeconfig(), "--namespace", namespace,
	}, args...)...)
	return err
}

func (r *release) mustHelm(verb string, args ...string) {
	r.Helper()
	controlplanetest.Require(r, r.helm(verb, args...))
}

// refused is a command that must fail, and say these.
func (r *release) refused(verb string, args []string, says ...string) {
	r.Helper()
	err := r.helm(verb, args...)
	if err == nil {
		r.Fatalf("helm %s %v did not fail", verb, args)
	}
	for _, text := range says {
		if !strings.Contains(err.Error(), text) {
			r.Errorf("helm %s %v does not say %q: %v", verb, args, text, err)
		}
	}
	for _, password := range []string{"mySuperSecretPassword", changedPassword} {
		if strings.Contains(err.Error(), password) {
			r.Errorf("helm %s %v shows a password", verb, args)
		}
	}
}

// changedPassword is the new password of the installation.
const changedPassword = "an0therPassword"

// start starts a replica of a Deployment of the release.
func (r *release) start(name string) *deployment.Replica {
	r.Helper()
	replica, err := deployment.Start(context.Background(), r.cp, namespace, name)
	controlplanetest.Require(r, err)
	return replica
}

// file writes values for Helm.
func (r *release) file(given values) string {
	r.Helper()
	content, err := yaml.Marshal(given)
	controlplanetest.Require(r, err)
	return write(r, "values.yaml", content)
}

func write(t testing.TB, name string, content []byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	controlplanetest.Require(t, os.WriteFile(file, content, 0o600))
	return file
}

// same holds that nothing has become different.
func (r *release) same(what string, before, after any) {
	r.Helper()
	if diff := cmp.Diff(before, after); diff != "" {
		r.Errorf("%s (-before +after):\n%s", what, diff)
	}
}

// idle awaits that a program has nothing to do: all that it queued is done, also after the last change that is known.
func (r *release) idle(program *deployment.Replica) {
	r.Helper()
	controlplanetest.Await(r, "rest", func(ctx context.Context) (bool, error) {
		page, err := program.Metrics(ctx)
		if err != nil {
			return false, err
		}
		busy := process.Sum(page, "workqueue_depth{") + process.Sum(page, "controller_runtime_active_workers{")
		return controlplanetest.Holds(busy == 0, "%v of queue and workers", busy)
	})
}
