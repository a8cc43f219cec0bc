package corp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/fairlead-io/fairlead/e2e/tools"
)

// kubelet stands in for the real one, which cannot run here: it has no container runtime. What a variable's value
// becomes is the kubelet's own code, in tools.Expand; where it comes from, and when a container does not start, is
// written after makeEnvironmentVariables in pkg/kubelet/kubelet_pods.go.
type kubelet struct{ clients kubernetes.Interface }

type variable struct {
	Name, Value string
	From        bool // elsewhere: it is not expanded then
}

// environment is what the container is started with, but for what the kubelet and the runtime add to any. The
// error is why it is not started.
func (k kubelet) environment(ctx context.Context, namespace string, container corev1.Container) ([]string, error) {
	if len(container.EnvFrom) > 0 {
		return nil, fmt.Errorf("container %s has an envFrom, which this kubelet does not know", container.Name)
	}
	var variables []variable
	for _, entry := range container.Env {
		v := variable{Name: entry.Name, Value: entry.Value}
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
func (k kubelet) resolve(ctx context.Context, namespace string, v *variable, source *corev1.EnvVarSource) (found bool, err error) {
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
func expand(ctx context.Context, variables []variable) ([]string, error) {
	program, err := tools.Build(ctx, tools.Expand, os.Stderr)
	if err != nil {
		return nil, err
	}
	input, err := json.Marshal(variables)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, program)
	cmd.Stdin = bytes.NewReader(input)
	output, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	var values []string
	if err := json.Unmarshal(output, &values); err != nil {
		return nil, err
	}
	environment := make([]string, 0, len(values))
	for i, value := range values {
		environment = append(environment, variables[i].Name+"="+value)
	}
	return environment, nil
}
