// Package replicator runs the real replicator as charts/fairlead-policies, rendered by the real Helm, deploys it:
// its command, arguments and service account are read from the Deployment. What is added is how to reach the API
// server, and ports of its own. There is no kubelet and no image: the program is built from this repository.
package replicator

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/operator"
	"github.com/fairlead-io/fairlead/e2e/policies"
	"github.com/fairlead-io/fairlead/e2e/ports"
	"github.com/fairlead-io/fairlead/e2e/process"
)

// Name is that of its Deployment, service account, role and lease.
const Name = "fairlead-replicator"

// User is who it is to the API server.
var User = controlplane.ServiceAccountUser(policies.Namespace, Name)

// Replicator is one running replica.
type Replicator struct {
	*process.Process
	Config  *rest.Config // its own rights
	metrics *ports.Port
	health  *ports.Port
}

// Start starts a replica of the Deployment that is installed, with arguments added, and returns when it is ready.
func Start(ctx context.Context, cp *controlplane.ControlPlane, args ...string) (*Replicator, error) {
	clients, err := kubernetes.NewForConfig(cp.Admin())
	if err != nil {
		return nil, err
	}
	deployment, err := clients.AppsV1().Deployments(policies.Namespace).Get(ctx, Name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	command, account, err := commandOf(deployment)
	if err != nil {
		return nil, err
	}
	path, err := operator.Build(ctx, command[0])
	if err != nil {
		return nil, err
	}
	r := &Replicator{}
	if r.Config, err = cp.ServiceAccount(ctx, policies.Namespace, account); err != nil {
		return nil, err
	}
	kubeconfig, err := cp.Kubeconfig(r.Config)
	if err != nil {
		return nil, err
	}
	for _, port := range []**ports.Port{&r.metrics, &r.health} {
		if *port, err = ports.Reserve(); err != nil {
			return nil, err
		}
	}
	added := []string{
		"--kubeconfig", kubeconfig,
		"--metrics-bind-address", r.metrics.Address(),
		"--health-probe-bind-address", r.health.Address(),
	}
	r.Process, err = cp.Run(ctx, process.Spec{
		Name:  Name + "-" + r.health.String(), // each replica has a log of its own
		Path:  path,
		Args:  slices.Concat(command[1:], added, args),
		Ready: r.Ready,
	})
	return r, err
}

// commandOf returns the command line of the Deployment's only container, and its service account.
func commandOf(deployment *appsv1.Deployment) (command []string, account string, err error) {
	pod := deployment.Spec.Template.Spec
	if len(pod.Containers) != 1 || len(pod.InitContainers) != 0 {
		return nil, "", errors.New("the Deployment has not exactly one container")
	}
	command = slices.Concat(pod.Containers[0].Command, pod.Containers[0].Args)
	if len(command) == 0 || strings.Contains(strings.Join(command, " "), "$(") {
		return nil, "", fmt.Errorf("the command line %q is more than we can run", command)
	}
	return command, pod.ServiceAccountName, nil
}

// Ready asks the readiness probe.
func (r *Replicator) Ready(ctx context.Context) error {
	_, err := process.Get(ctx, "http://"+r.health.Address()+"/readyz")
	return err
}

// Metrics returns what the metrics endpoint says.
func (r *Replicator) Metrics(ctx context.Context) (string, error) {
	return process.Get(ctx, "http://"+r.metrics.Address()+"/metrics")
}

// Log returns everything that it has printed.
func (r *Replicator) Log() (string, error) {
	text, err := os.ReadFile(r.LogFile())
	return string(text), err
}
