package deployment

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/ports"
	"github.com/fairlead-io/fairlead/e2e/process"
	"github.com/fairlead-io/fairlead/e2e/tools"
)

// Relay is a pod of the DaemonSet fairlead-relay: what follows the source, and what leads through the proxy.
type Relay struct {
	Follow, Relay *process.Process
	Folder        string // of its settings
	Address       string // to which clients connect: there is no Service
	Health        string
}

// Stop ends both.
func (r *Relay) Stop() error { return errors.Join(r.Relay.Stop(), r.Follow.Stop()) }

// StartRelay starts a pod of the DaemonSet that is installed, with its arguments and its service account's token, and returns
// when it is ready. Addresses and folders are of this machine: the pod's are in a network and a file system of its own.
func StartRelay(ctx context.Context, cp *controlplane.ControlPlane, namespace string) (*Relay, error) {
	clients, err := kubernetes.NewForConfig(cp.Admin())
	if err != nil {
		return nil, err
	}
	installed, err := clients.AppsV1().DaemonSets(namespace).Get(ctx, "fairlead-relay", metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	config, err := clients.CoreV1().ConfigMaps(namespace).Get(ctx, "fairlead-relay", metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	r := &Relay{Folder: filepath.Join(cp.Dir(), "relay-"+namespace)}
	policy, settings := filepath.Join(r.Folder, "policy.yaml"), filepath.Join(r.Folder, "settings")
	if err := os.MkdirAll(settings, 0o700); err != nil {
		return nil, err
	}
	text, err := withLoopback(config.Data["policy.yaml"])
	if err == nil {
		err = os.WriteFile(policy, text, 0o600)
	}
	if err != nil {
		return nil, err
	}
	var reserved [3]*ports.Port
	for i := range reserved {
		if reserved[i], err = ports.Reserve(); err != nil {
			return nil, err
		}
	}
	r.Address, r.Health = reserved[0].Address(), reserved[1].Address()
	pod := installed.Spec.Template.Spec
	identity, err := cp.ServiceAccount(ctx, namespace, pod.ServiceAccountName)
	if err != nil {
		return nil, err
	}
	kubeconfig, err := cp.Kubeconfig(identity)
	if err != nil {
		return nil, err
	}
	r.Follow, err = Container(ctx, cp, pod.InitContainers, "follow", reserved[2].Address(), map[string]string{
		"--folder": settings, "--kubeconfig": kubeconfig,
	})
	if err != nil {
		return nil, err
	}
	r.Relay, err = Container(ctx, cp, pod.Containers, "relay", r.Health, map[string]string{
		"--listen": r.Address, "--policy": policy, "--proxy": settings, "--drain-delay": "0s",
	})
	if err != nil {
		return nil, errors.Join(err, r.Follow.Stop())
	}
	return r, nil
}

// withLoopback lets in clients of this machine: there are no pods with addresses of their own.
func withLoopback(policy string) ([]byte, error) {
	var fields map[string]any
	if err := yaml.Unmarshal([]byte(policy), &fields); err != nil {
		return nil, err
	}
	sources, _ := fields["sources"].([]any)
	fields["sources"] = append(sources, "127.0.0.0/8")
	return yaml.Marshal(fields)
}

// Container runs a container's program, with these flags in the place of its own, and returns when it is ready.
func Container(
	ctx context.Context, cp *controlplane.ControlPlane, among []corev1.Container, name, health string, flags map[string]string,
) (*process.Process, error) {
	i := slices.IndexFunc(among, func(c corev1.Container) bool { return c.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("there is no container %s", name)
	}
	line := slices.Concat(among[i].Command, among[i].Args)
	program, args := "fairlead-relay", line
	if len(line) > 0 && !strings.HasPrefix(line[0], "-") {
		program, args = line[0], line[1:]
	}
	path, err := tools.Program(ctx, program)
	if err != nil {
		return nil, err
	}
	flags["--health-address"] = health
	args = slices.DeleteFunc(slices.Clone(args), func(arg string) bool {
		flag, _, _ := strings.Cut(arg, "=")
		_, replaced := flags[flag]
		return replaced
	})
	for flag, value := range flags {
		args = append(args, flag+"="+value)
	}
	return cp.Run(ctx, process.Spec{
		Name: "fairlead-" + name + "-" + health[strings.LastIndexByte(health, ':')+1:], Path: path, Args: args,
		Ready: func(ctx context.Context) error {
			_, err := process.Get(ctx, "http://"+health+"/readyz")
			return err
		},
	})
}
