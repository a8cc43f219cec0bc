package policies_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
)

// prepare makes the namespaces, the pods that are older than the policies, and the policies.
func (e *engine) prepare(ctx context.Context, rows []row) error {
	if err := e.createNamespace(ctx, untouched, nil); err != nil {
		return err
	}
	for _, v := range variants() {
		for kind, says := range map[string]string{
			plainNamespace: "", namedNamespace: "", unservedNamespace: "", unmarkedNamespace: "", excludedNamespace: "exclude", includedNamespace: "include",
		} {
			labels := map[string]string{variantLabel: v.name}
			if says != "" {
				labels[said] = says
			}
			if err := e.createNamespace(ctx, v.namespace(kind), labels); err != nil {
				return err
			}
		}
	}
	for _, where := range oldCorners(rows) {
		if err := e.createOld(ctx, where); err != nil {
			return fmt.Errorf("create an old pod: %w", err)
		}
	}
	objects, err := manifests(ctx, e.name, variants())
	if err != nil {
		return err
	}
	if err := e.cp.ApplyObjects(ctx, objects...); err != nil {
		return err
	}
	for _, v := range variants() {
		namespace := v.namespace(plainNamespace)
		if err := e.awaitPolicy(ctx, namespace); err != nil {
			return fmt.Errorf("await the policy for %s under %s: %w", namespace, e.name, err)
		}
	}
	return nil
}

func (e *engine) createNamespace(ctx context.Context, name string, labels map[string]string) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
	if !strings.HasSuffix(name, "-"+unmarkedNamespace) {
		namespace.Annotations = map[string]string{"fairlead.io/served": strconv.FormatBool(!strings.HasSuffix(name, "-"+unservedNamespace))}
	}
	_, err := e.clients.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{})
	return err
}

// createOld creates a pod with an ephemeral container, before there is a policy.
func (e *engine) createOld(ctx context.Context, c corner) error {
	pod := c.oldPod()
	if err := e.create(ctx, c.namespace(), pod); err != nil {
		return err
	}
	older := debug(corev1.Container{Name: "older", Image: "registry.example/debug:1"})
	pod.Spec.EphemeralContainers = append(pod.Spec.EphemeralContainers, older)
	_, err := e.clients.CoreV1().Pods(c.namespace()).UpdateEphemeralContainers(ctx, pod.Name, pod, metav1.UpdateOptions{})
	return err
}

// create stores a pod, as soon as the service account of its namespace is there, and puts the answer in its place.
func (e *engine) create(ctx context.Context, namespace string, pod *corev1.Pod) error {
	return wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		stored, err := e.clients.CoreV1().Pods(namespace).Create(ctx, pod, metav1.CreateOptions{})
		if noServiceAccount(err) {
			return false, nil
		}
		if err == nil {
			*pod = *stored
		}
		return err == nil, err
	})
}

func noServiceAccount(err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "looking up service account")
}

// refused says that the API server, or a webhook, did not want a pod. A webhook gives a code without a reason.
func refused(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && slices.Contains([]int32{
		http.StatusBadRequest, http.StatusForbidden, http.StatusUnprocessableEntity, http.StatusInternalServerError,
	}, status.Status().Code)
}

// awaitPolicy returns when something happens to a pod that every policy, however broken, would inject somewhere or make
// impossible.
func (e *engine) awaitPolicy(ctx context.Context, namespace string) error {
	canary := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name:        "canary",
			Annotations: map[string]string{said: "include"},
			Labels:      map[string]string{said: "include", "spectrocloud.com/connection": "proxy"},
		},
		Spec: corev1.PodSpec{
			Containers:     []corev1.Container{{Name: "a", Image: "a"}},
			InitContainers: []corev1.Container{{Name: "b", Image: "b"}},
		},
	}
	return e.awaitChange(ctx, namespace, canary, func(stored *corev1.Pod) bool {
		return len(stored.Spec.Containers[0].Env)+len(stored.Spec.InitContainers[0].Env) > 0
	})
}

// awaitChange tries the pod until it is as wanted, or refused.
func (e *engine) awaitChange(ctx context.Context, namespace string, pod *corev1.Pod, wanted func(*corev1.Pod) bool) error {
	return wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, 2*time.Minute, true, func(ctx context.Context) (bool, error) {
		stored, err := e.clients.CoreV1().Pods(namespace).Create(ctx, pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err != nil {
			return refused(err) && !noServiceAccount(err), nil
		}
		return wanted(stored), nil
	})
}
