// Package node stands in for the kubelet and its container runtime, which cannot run here: it starts the real program
// of a pod's container in the company's network, with what the pod says of it. That is its environment, command,
// arguments and working directory, the pod's host aliases, and volumes that are of Secrets, ConfigMaps, the pod itself
// or nothing. Whatever else a pod says is not heeded: probes, limits, users, the order of containers.
//
// Containers of all pods share one network, so that those of one pod find each other at localhost. They see the files
// of this machine, and at the mount paths what the pod mounts there.
package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/fairlead-io/fairlead/e2e/machine"
	"github.com/fairlead-io/fairlead/e2e/process"
)

// Node runs containers in the network of corp.
type Node struct {
	Network *machine.Network
	// Clients find Secrets and ConfigMaps, and make service account tokens. For a pod from a file, and without an API
	// server, k8s.io/client-go/kubernetes/fake has some.
	Clients kubernetes.Interface
	// Programs of this machine, by the first word of the command that they stand for, or by the image if a container
	// has no command. A command that is not here is a program of this machine.
	Programs map[string]string
	// ServiceEnv are variables that every container gets, and may have otherwise: KUBERNETES_SERVICE_HOST for one.
	ServiceEnv map[string]string

	started atomic.Int64
}

// Start starts a container of the pod, or an init container, and returns at once. It runs until it ends or is stopped.
// It has its own log. The error says why the kubelet would not start it, by container and field.
func (n *Node) Start(ctx context.Context, pod *corev1.Pod, container string) (*process.Process, error) {
	p, err := n.start(ctx, pod, container)
	if err != nil {
		return nil, fmt.Errorf("pod %s/%s: container %s: %w", pod.Namespace, pod.Name, container, err)
	}
	return p, nil
}

// Run starts a container and returns what it has printed when it has ended. The error says that too.
func (n *Node) Run(ctx context.Context, pod *corev1.Pod, container string) (string, error) {
	p, err := n.Start(ctx, pod, container)
	if err != nil {
		return "", err
	}
	defer p.Stop() //nolint:errcheck // it has ended, or the context has
	ended := p.Wait(ctx)
	output, err := p.Log()
	if err = errors.Join(ended, err); err != nil {
		err = fmt.Errorf("%w: %s", err, output)
	}
	return output, err
}

func (n *Node) start(ctx context.Context, pod *corev1.Pod, name string) (*process.Process, error) {
	all := slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers)
	at := slices.IndexFunc(all, func(c corev1.Container) bool { return c.Name == name })
	if at < 0 {
		return nil, errors.New("the pod has no such container")
	}
	container := &all[at]
	variables, err := n.variables(ctx, pod, container)
	if err != nil {
		return nil, fmt.Errorf("CreateContainerConfigError: %w", err)
	}
	environment, command, err := expand(ctx, variables, container)
	if err != nil {
		return nil, err
	}
	program, err := n.program(container, command)
	if err != nil {
		return nil, err
	}
	if err := n.Refresh(ctx, pod); err != nil {
		return nil, err
	}
	mounts, err := n.mounts(pod, container)
	if err != nil {
		return nil, err
	}
	log := fmt.Sprintf("%s-%d.log", name, n.started.Add(1))
	p, err := n.Network.StartIn(ctx, machine.Corp, mounts, process.Spec{
		Name: pod.Name + "/" + name, Path: program, Args: command[min(1, len(container.Command)):],
		Env: environment, Dir: container.WorkingDir, LogFile: n.outside(pod, log),
	})
	if err != nil {
		return nil, err
	}
	go func() {
		<-p.Done()
		_ = mounts.Close() // it was read only
	}()
	return p, nil
}

// program is the file that the container's command, or its image, stands for. The command has no $(NAME) any more.
func (n *Node) program(container *corev1.Container, command []string) (string, error) {
	if len(container.Command) == 0 {
		program, found := n.Programs[container.Image]
		if !found {
			return "", fmt.Errorf("image %s: it has no command, and there is no program for the image", container.Image)
		}
		return program, nil
	}
	if program, found := n.Programs[command[0]]; found {
		return program, nil
	}
	program, err := exec.LookPath(command[0])
	if err != nil {
		return "", fmt.Errorf("command[0]: %w", err)
	}
	return program, nil
}

// hosts returns the container's /etc/hosts: names that corp knows, and the pod's aliases as the kubelet writes them
// (pkg/kubelet/kubelet_pods.go, hostsEntriesFromHostAliases).
func (n *Node) hosts(pod *corev1.Pod) ([]byte, error) {
	content, err := os.ReadFile(n.Network.Path("/etc/hosts"))
	for _, alias := range pod.Spec.HostAliases {
		content = append(content, alias.IP+"\t"+strings.Join(alias.Hostnames, "\t")+"\n"...)
	}
	return content, err
}
