// Package operator installs Fairlead on a control plane and runs the real
// operator binary there, under exactly the permissions that config/rbac ships.
package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"github.com/fairlead-io/fairlead/config"
	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/deployment"
)

// Where config/rbac installs the operator, and as whom.
const (
	Namespace      = "fairlead-system"
	ServiceAccount = "fairlead-operator"
)

// User is the operator's user name to the API server.
var User = controlplane.ServiceAccountUser(Namespace, ServiceAccount)

// Content are the CRDs of Cluster API and everything below config/.
var Content = []controlplane.Content{controlplane.ClusterAPI, fairlead}

var fairlead = controlplane.Content{
	Name: "fairlead",
	Read: func(context.Context) ([]byte, error) { return controlplane.ReadFS(config.Files) },
}

// Install installs the Content, and returns when the operator's cage holds.
func Install(ctx context.Context, cp *controlplane.ControlPlane) error {
	if err := cp.Install(ctx, controlplane.ClusterAPI); err != nil {
		return err
	}
	return InstallWithoutClusterAPI(ctx, cp)
}

// InstallWithoutClusterAPI installs everything below config/ alone.
func InstallWithoutClusterAPI(ctx context.Context, cp *controlplane.ControlPlane) error {
	if err := cp.Install(ctx, fairlead); err != nil {
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
	var last error
	err = wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, 2*time.Minute, true, func(ctx context.Context) (bool, error) {
		_, err := clients.CoreV1().Secrets(Namespace).Create(ctx, probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if apierrors.IsForbidden(err) && strings.Contains(err.Error(), "ValidatingAdmissionPolicy") {
			return true, nil
		}
		if ctx.Err() == nil { // an error because the time is up says nothing
			last = cmp.Or(err, errors.New("it is let through"))
		}
		return false, nil
	})
	if err != nil {
		return fmt.Errorf("await that the operator's cage refuses a Secret: %w (last answer: %w)", err, last)
	}
	return nil
}

// Options are all optional.
type Options struct {
	Args            []string // added to the command line
	Program         string   // the binary of another version
	DoNotAwaitReady bool     // return once it is started
}

// Operator is a running operator.
type Operator = deployment.Replica

// Start starts the operator binary as its service account, and returns when it
// is ready.
func Start(ctx context.Context, cp *controlplane.ControlPlane, options Options) (*Operator, error) {
	command := []string{cmp.Or(options.Program, "fairlead-operator"), "--namespace", Namespace}
	if options.Program == "" { // an earlier version does not know it
		command = append(command, "--unselected-grace-period", "1s") // the default is for people
	}
	return deployment.Run(ctx, cp, deployment.Spec{
		Namespace:       Namespace,
		ServiceAccount:  ServiceAccount,
		Command:         append(command, options.Args...),
		DoNotAwaitReady: options.DoNotAwaitReady,
	})
}
