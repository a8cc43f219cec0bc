package node

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/fairlead-io/fairlead/e2e/kubelet"
	"github.com/fairlead-io/fairlead/e2e/machine"
)

// variables returns the variables of the container, in the order in which they are expanded; of two with one name, the
// last counts. The kubelet's own code, in package kubelet, expands the values. The sources, and the cases in which a
// container does not start, follow makeEnvironmentVariables in pkg/kubelet/kubelet_pods.go.
func (n *Node) variables(ctx context.Context, pod *corev1.Pod, container *corev1.Container) ([]kubelet.Variable, error) {
	variables := fromMap("", n.ServiceEnv)
	for i, source := range container.EnvFrom {
		values, err := n.envFrom(ctx, pod, source)
		if err != nil {
			return nil, fmt.Errorf("envFrom[%d]: %w", i, err)
		}
		variables = append(variables, fromMap(source.Prefix, values)...)
	}
	for _, entry := range container.Env {
		v := kubelet.Variable{Name: entry.Name, Value: entry.Value}
		if entry.Value == "" && entry.ValueFrom != nil {
			value, found, err := n.valueFrom(ctx, pod, entry.ValueFrom)
			if err != nil {
				return nil, fmt.Errorf("env %s: %w", entry.Name, err)
			}
			if !found {
				continue
			}
			v.Value, v.From = value, true
		}
		variables = append(variables, v)
	}
	return variables, nil
}

func fromMap(prefix string, values map[string]string) []kubelet.Variable {
	var variables []kubelet.Variable
	for _, name := range slices.Sorted(maps.Keys(values)) {
		variables = append(variables, kubelet.Variable{Name: prefix + name, Value: values[name], From: true})
	}
	return variables
}

func (n *Node) envFrom(ctx context.Context, pod *corev1.Pod, source corev1.EnvFromSource) (map[string]string, error) {
	switch {
	case source.SecretRef != nil:
		return n.content(ctx, pod, "Secret", source.SecretRef.Name, source.SecretRef.Optional)
	case source.ConfigMapRef != nil:
		return n.content(ctx, pod, "ConfigMap", source.ConfigMapRef.Name, source.ConfigMapRef.Optional)
	}
	return nil, fmt.Errorf("this kubelet does not know its source")
}

func (n *Node) valueFrom(ctx context.Context, pod *corev1.Pod, source *corev1.EnvVarSource) (value string, found bool, err error) {
	switch {
	case source.SecretKeyRef != nil:
		ref := source.SecretKeyRef
		return n.key(ctx, pod, "Secret", ref.Name, ref.Key, ref.Optional)
	case source.ConfigMapKeyRef != nil:
		ref := source.ConfigMapKeyRef
		return n.key(ctx, pod, "ConfigMap", ref.Name, ref.Key, ref.Optional)
	case source.FieldRef != nil:
		value, err := field(pod, source.FieldRef.FieldPath)
		return value, true, err
	}
	return "", false, fmt.Errorf("this kubelet does not know its source")
}

// key is one of a Secret's or a ConfigMap's.
func (n *Node) key(ctx context.Context, pod *corev1.Pod, kind, name, key string, optional *bool) (string, bool, error) {
	values, err := n.content(ctx, pod, kind, name, optional)
	if err != nil {
		return "", false, err
	}
	value, found := values[key]
	if !found && !isTrue(optional) {
		return "", false, fmt.Errorf("couldn't find key %s in %s %s/%s", key, kind, pod.Namespace, name)
	}
	return value, found, nil
}

// content is all of a Secret or a ConfigMap, and nothing of one that is not there and need not.
func (n *Node) content(ctx context.Context, pod *corev1.Pod, kind, name string, optional *bool) (map[string]string, error) {
	content, err := n.get(ctx, pod.Namespace, kind, name)
	if apierrors.IsNotFound(err) && isTrue(optional) {
		return nil, nil
	}
	return content, err
}

func (n *Node) get(ctx context.Context, namespace, kind, name string) (map[string]string, error) {
	content := map[string]string{}
	var binary map[string][]byte
	if kind == "Secret" {
		secret, err := n.Clients.CoreV1().Secrets(namespace).Get(ctx, name, getOptions)
		if err != nil {
			return nil, err
		}
		binary = secret.Data
	} else {
		configMap, err := n.Clients.CoreV1().ConfigMaps(namespace).Get(ctx, name, getOptions)
		if err != nil {
			return nil, err
		}
		maps.Copy(content, configMap.Data)
		binary = configMap.BinaryData
	}
	for key, value := range binary {
		content[key] = string(value)
	}
	return content, nil
}

// field returns a field of a pod by the downward API, as far as agents ask for it.
func field(pod *corev1.Pod, path string) (string, error) {
	values := map[string]string{
		"metadata.name":           pod.Name,
		"metadata.namespace":      pod.Namespace,
		"metadata.uid":            string(pod.UID),
		"spec.nodeName":           pod.Spec.NodeName,
		"spec.serviceAccountName": pod.Spec.ServiceAccountName,
		"status.podIP":            machine.CorpAddress,
		"status.hostIP":           machine.CorpAddress,
	}
	value, found := values[path]
	if !found {
		return "", fmt.Errorf("this kubelet does not know the field %s", path)
	}
	return value, nil
}

// expand replaces $(NAME) in variables, and in the command and arguments by what the container then has. It returns
// NAME=value of the variables, and both.
func expand(ctx context.Context, variables []kubelet.Variable, container *corev1.Container) (environment, command []string, err error) {
	all := slices.Clone(variables)
	for _, word := range slices.Concat(container.Command, container.Args) {
		all = append(all, kubelet.Variable{Name: nobody, Value: word})
	}
	values, err := kubelet.Expand(ctx, all)
	if err != nil {
		return nil, nil, err
	}
	last := map[string]int{}
	for i, v := range variables {
		last[v.Name] = i
	}
	for i, v := range variables {
		if last[v.Name] == i {
			environment = append(environment, v.Name+"="+values[i])
		}
	}
	return environment, values[len(variables):], nil
}

// nobody is a name that no text can refer to: none of a pod's has the character.
const nobody = "\x00"

func isTrue(b *bool) bool { return b != nil && *b }
