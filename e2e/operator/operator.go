// Package operator installs Fairlead on a control plane and runs the real
// operator binary there, under exactly the permissions that config/rbac ships.
package operator

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/fairlead-io/fairlead/config"
	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/ports"
	"github.com/fairlead-io/fairlead/e2e/process"
	"github.com/fairlead-io/fairlead/e2e/tools"
)

// Where config/rbac installs the operator, and as whom.
const (
	Namespace      = "fairlead-system"
	ServiceAccount = "fairlead-operator"
)

// User is who the operator is to the API server.
var User = controlplane.ServiceAccountUser(Namespace, ServiceAccount)

// Install installs the CRDs of Cluster API and everything below config/, and
// returns when the operator's cage holds.
func Install(ctx context.Context, cp *controlplane.ControlPlane) error {
	if err := cp.InstallClusterAPI(ctx); err != nil {
		return err
	}
	return InstallWithoutClusterAPI(ctx, cp)
}

// InstallWithoutClusterAPI installs everything below config/ alone.
func InstallWithoutClusterAPI(ctx context.Context, cp *controlplane.ControlPlane) error {
	if err := cp.ApplyFS(ctx, config.Files); err != nil {
		return err
	}
	return awaitCage(ctx, cp)
}

// awaitCage tries what the admission policy forbids until it is refused: the API
// server takes a moment to notice a new policy.
func awaitCage(ctx context.Context, cp *controlplane.ControlPlane) error {
	account, err := cp.ServiceAccount(ctx, Namespace, ServiceAccount)
	if err != nil {
		return err
	}
	clients, err := kubernetes.NewForConfig(account)
	if err != nil {
		return err
	}
	probe := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "not-of-the-contract"}}
	return wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, 30*time.Second, true, func(ctx context.Context) (bool, error) {
		_, err := clients.CoreV1().Secrets(Namespace).Create(ctx, probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "ValidatingAdmissionPolicy"), nil
	})
}

// Build builds a program of this repository below operator/cmd, and returns its
// path. The environment is go's, as NAME=value.
func Build(ctx context.Context, name string, environment ...string) (string, error) {
	_, here, _, _ := runtime.Caller(0)
	root := filepath.Join(filepath.Dir(here), "..", "..")
	path := filepath.Join(root, ".cache", "bin", name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	unlock, err := tools.Lock(ctx, path+".lock") // who comes second finds it up to date, and does not write what may run by now
	if err != nil {
		return "", fmt.Errorf("wait for another build of %s: %w", name, err)
	}
	defer unlock()
	build := exec.CommandContext(ctx, "go", "build", "-o", path, "./operator/cmd/"+name)
	build.Dir = root
	build.Env = append(os.Environ(), environment...)
	if output, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", name, err, output)
	}
	return path, nil
}

// Options are all optional.
type Options struct {
	Args            []string // added to the command line
	DoNotAwaitReady bool     // return once it is started
}

// Operator is a running operator.
type Operator struct {
	*process.Process
	Config  *rest.Config // its own rights
	metrics *ports.Port
	health  *ports.Port
}

// Start starts the operator binary as its service account, and returns when it
// is ready.
func Start(ctx context.Context, cp *controlplane.ControlPlane, options Options) (*Operator, error) {
	path, err := Build(ctx, "fairlead-operator")
	if err != nil {
		return nil, err
	}
	o := &Operator{}
	if o.Config, err = cp.ServiceAccount(ctx, Namespace, ServiceAccount); err != nil {
		return nil, err
	}
	kubeconfig, err := cp.Kubeconfig(o.Config)
	if err != nil {
		return nil, err
	}
	if o.metrics, err = ports.Reserve(); err != nil {
		return nil, err
	}
	if o.health, err = ports.Reserve(); err != nil {
		return nil, err
	}
	args := append([]string{
		"--kubeconfig", kubeconfig,
		"--namespace", Namespace,
		"--metrics-bind-address", o.metrics.Address(),
		"--health-probe-bind-address", o.health.Address(),
	}, options.Args...)
	// Each has a log of its own, as there may be two at a time.
	spec := process.Spec{Name: "fairlead-operator-" + o.health.String(), Path: path, Args: args}
	if !options.DoNotAwaitReady {
		spec.Ready = o.Ready
	}
	o.Process, err = cp.Run(ctx, spec)
	return o, err
}

// Metrics returns what the metrics endpoint says.
func (o *Operator) Metrics(ctx context.Context) (string, error) {
	return process.Get(ctx, "http://"+o.metrics.Address()+"/metrics")
}

// Log returns everything the operator has printed.
func (o *Operator) Log() (string, error) {
	text, err := os.ReadFile(o.LogFile())
	return string(text), err
}

// Ready asks the readiness probe.
func (o *Operator) Ready(ctx context.Context) error {
	_, err := process.Get(ctx, "http://"+o.health.Address()+"/readyz")
	return err
}
