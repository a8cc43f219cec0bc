package corp_test

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/fairlead-io/fairlead/e2e/kubelet"
)

// node stands in for the real one, which cannot run here: it has no container runtime. What a variable's value
// becomes is the kubelet's own code, in package kubelet; where it comes from, and when a container does not start, is
// written after makeEnvironmentVariables in pkg/kubelet/kubelet_pods.go.
type node struct{ clients kubernetes.Interface }

// environment is what the container is started with, but for what the kubelet and the runtime add to any. The
// error is why it is not started.
func (k node) environment(ctx context.Context, namespace string, container corev1.Container) ([]string, error) {
	if len(container.EnvFrom) > 0 {
		return nil, fmt.Errorf("container %s has an envFrom, which this kubelet does not know", container.Name)
	}
	var variables []kubelet.Variable
	for _, entry := range container.Env {
		v := kubelet.Variable{Name: entry.Name, Value: entry.Value}
		if entry.ValueFrom != nil {
			found, err := k.resolve(ctx, namespace, &v, entry.ValueFrom)
			if err != nil {
				return nil, fmt.Errorf("container %s: variable %s: %w", container.Name, entry.Name, err)
			}
			if !found {
				continue
			}
		}
		variables = append(variables, v)
	}
	return expand(ctx, variables)
}

// resolve reads a secretKeyRef, and no other source.
func (k node) resolve(ctx context.Context, namespace string, v *kubelet.Variable, source *corev1.EnvVarSource) (found bool, err error) {
	ref := source.SecretKeyRef
	if ref == nil {
		return false, fmt.Errorf("this kubelet does not know its source")
	}
	optional := ref.Optional != nil && *ref.Optional
	secret, err := k.clients.CoreV1().Secrets(namespace).Get(ctx, ref.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) && optional {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	value, found := secret.Data[ref.Key]
	if !found && !optional {
		return false, fmt.Errorf("couldn't find key %s in Secret %s/%s", ref.Key, namespace, ref.Name)
	}
	v.Value, v.From = string(value), true
	return found, nil
}

// expand replaces $(NAME), and makes NAME=value of the variables.
func expand(ctx context.Context, variables []kubelet.Variable) ([]string, error) {
	environment, err := kubelet.Expand(ctx, variables)
	for i, value := range environment {
		environment[i] = variables[i].Name + "=" + value
	}
	return environment, err
}
