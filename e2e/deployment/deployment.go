// Package deployment runs a program of this repository as a Deployment on a control plane says: with its command,
// arguments, environment and service account's token. What is added is how to reach the API server, and ports of its
// own. There is no kubelet and no image: the program is built from this repository.
package deployment

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/ports"
	"github.com/fairlead-io/fairlead/e2e/process"
	"github.com/fairlead-io/fairlead/e2e/tools"
)

// Replica is a running one.
type Replica struct {
	*process.Process
	Config  *rest.Config // its own rights
	metrics *ports.Port
	health  *ports.Port
}

// Start starts a replica of the Deployment that is installed, with arguments added, and returns when it is ready.
func Start(ctx context.Context, cp *controlplane.ControlPlane, namespace, name string, args ...string) (*Replica, error) {
	clients, err := kubernetes.NewForConfig(cp.Admin())
	if err != nil {
		return nil, err
	}
	object, err := clients.AppsV1().Deployments(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	spec, err := specOf(object)
	if err != nil {
		return nil, fmt.Errorf("deployment %s/%s: %w", namespace, name, err)
	}
	spec.Command = append(spec.Command, args...)
	return Run(ctx, cp, spec)
}

// Spec has the fields of a Deployment that matter to a process.
type Spec struct {
	Namespace       string
	ServiceAccount  string
	Command         []string // the first is a program below operator/cmd
	Env             []string // NAME=value
	DoNotAwaitReady bool     // return once it is started
}

func specOf(object *appsv1.Deployment) (Spec, error) {
	pod := object.Spec.Template.Spec
	if len(pod.Containers) != 1 || len(pod.InitContainers) != 0 {
		return Spec{}, errors.New("it has not exactly one container")
	}
	container := pod.Containers[0]
	command := slices.Concat(container.Command, container.Args)
	if len(command) == 0 || strings.Contains(strings.Join(command, " "), "$(") {
		return Spec{}, fmt.Errorf("the command line %q is more than can be run here", command)
	}
	spec := Spec{Namespace: object.Namespace, ServiceAccount: pod.ServiceAccountName, Command: command}
	for _, env := range container.Env {
		value, err := valueOf(env, object.Namespace, container.Resources.Limits)
		if err != nil {
			return Spec{}, err
		}
		spec.Env = append(spec.Env, env.Name+"="+value)
	}
	return spec, nil
}

func valueOf(env corev1.EnvVar, namespace string, limits corev1.ResourceList) (string, error) {
	switch from := env.ValueFrom; {
	case from == nil && !strings.Contains(env.Value, "$"):
		return env.Value, nil
	case from != nil && from.FieldRef != nil && from.FieldRef.FieldPath == "metadata.namespace":
		return namespace, nil
	case from != nil && from.ResourceFieldRef != nil && from.ResourceFieldRef.Resource == "limits.memory":
		return strconv.FormatInt(limits.Memory().Value(), 10), nil // in bytes
	}
	return "", fmt.Errorf("the value of %s is more than can be had here", env.Name)
}

// Run starts a program as its service account.
func Run(ctx context.Context, cp *controlplane.ControlPlane, spec Spec) (*Replica, error) {
	r := &Replica{}
	var err error
	path := spec.Command[0]
	if !filepath.IsAbs(path) { // else it is a build of another version
		if path, err = tools.Program(ctx, path); err != nil {
			return nil, err
		}
	}
	if r.Config, err = cp.ServiceAccount(ctx, spec.Namespace, spec.ServiceAccount); err != nil {
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
	spawned := process.Spec{
		Name: spec.ServiceAccount + "-" + r.health.String(), // each replica has a log of its own
		Path: path,
		Args: append(slices.Clone(spec.Command[1:]),
			"--kubeconfig", kubeconfig,
			"--metrics-bind-address", r.metrics.Address(),
			"--health-probe-bind-address", r.health.Address()),
		Env: spec.Env,
	}
	if !spec.DoNotAwaitReady {
		spawned.Ready = r.Ready
	}
	r.Process, err = cp.Run(ctx, spawned)
	return r, err
}

// Ready asks the readiness probe.
func (r *Replica) Ready(ctx context.Context) error {
	_, err := process.Get(ctx, "http://"+r.health.Address()+"/readyz")
	return err
}

// MetricsAddress is where the metrics endpoint is, and what is served beside it.
func (r *Replica) MetricsAddress() string { return r.metrics.Address() }

// Metrics returns what the metrics endpoint says.
func (r *Replica) Metrics(ctx context.Context) (string, error) {
	return process.Get(ctx, "http://"+r.metrics.Address()+"/metrics")
}
