package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/kyverno"
	"github.com/fairlead-io/fairlead/e2e/policies"
)

const (
	namespace    = "shop"
	interval     = 200 * time.Millisecond
	awaitTimeout = 2 * time.Minute
)

//go:embed pod.yaml
var podManifest []byte

// lab is a control plane with Kyverno, and the pod that is created again and again.
type lab struct {
	cp      *controlplane.ControlPlane
	kyverno *kyverno.Kyverno
	clients kubernetes.Interface
	any     client.Client
	pod     *corev1.Pod
}

func newLab(ctx context.Context, options options) (*lab, error) {
	l := &lab{pod: &corev1.Pod{}}
	if err := yaml.UnmarshalStrict(podManifest, l.pod); err != nil {
		return nil, err
	}
	var err error
	if l.cp, err = controlplane.Start(ctx, controlplane.Options{Progress: options.Progress, Content: kyverno.Content}); err != nil {
		return nil, err
	}
	if err = l.fill(ctx, options); err != nil {
		return nil, errors.Join(err, l.close())
	}
	return l, nil
}

func (l *lab) fill(ctx context.Context, options options) (err error) {
	config := l.cp.Admin()
	config.QPS = -1 // as fast as they are answered
	if l.clients, err = kubernetes.NewForConfig(config); err != nil {
		return err
	}
	if l.any, err = client.New(l.cp.Admin(), client.Options{}); err != nil {
		return err
	}
	if err := l.cp.StartControllerManager(ctx, controlplane.ServiceAccounts); err != nil {
		return err
	}
	if l.kyverno, err = kyverno.Start(ctx, l.cp, kyverno.Options{Progress: options.Progress}); err != nil {
		return err
	}
	_, err = l.clients.CoreV1().Namespaces().Create(ctx,
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace, Annotations: map[string]string{"fairlead.io/served": "true"}}}, metav1.CreateOptions{})
	return err
}

func (l *lab) close() error {
	var err error
	if l.kyverno != nil {
		err = l.kyverno.Stop()
	}
	return errors.Join(err, l.cp.Stop())
}

// with does something while the policy, and no other, is in force.
func (l *lab) with(ctx context.Context, p policy, do func() error) error {
	objects, err := p.objects()
	if err != nil {
		return err
	}
	if err := l.cp.ApplyObjects(ctx, objects...); err != nil {
		return err
	}
	if err := l.await(ctx, p.name, len(objects) > 0); err != nil {
		return err
	}
	if err := do(); err != nil {
		return err
	}
	for _, object := range objects {
		if err := l.any.Delete(ctx, object); err != nil {
			return err
		}
	}
	return l.await(ctx, "the end of "+p.name, false)
}

// await returns when every container of a pod gets the variables, or none does and Kyverno is not asked. A pod that
// is refused is no failure yet.
func (l *lab) await(ctx context.Context, what string, given bool) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, interval, awaitTimeout, true, func(ctx context.Context) (done bool, _ error) {
		done, last = l.settled(ctx, given)
		return done && last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("await %s: %w", what, errors.Join(err, last))
	}
	return nil
}

func (l *lab) settled(ctx context.Context, given bool) (bool, error) {
	before, err := l.reviews(ctx)
	if err != nil {
		return false, err
	}
	pod, err := l.clients.CoreV1().Pods(namespace).Create(ctx, l.pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err != nil {
		return false, err
	}
	have := l.given(pod)
	if given {
		return settled(have == len(pod.Spec.Containers), "%d of %d containers have the variables", have, len(pod.Spec.Containers))
	}
	after, err := l.reviews(ctx)
	if err != nil {
		return false, err
	}
	return settled(have == 0 && after.count == before.count, "%d containers have the variables, and Kyverno was asked %v times",
		have, after.count-before.count)
}

func settled(is bool, format string, args ...any) (bool, error) {
	if is {
		return true, nil
	}
	return false, fmt.Errorf(format, args...)
}

// given counts the containers that have all six variables beside their own, or the Secret below sources of their own.
func (l *lab) given(pod *corev1.Pod) int {
	count := 0
	for i, c := range pod.Spec.Containers {
		source := slices.ContainsFunc(c.EnvFrom, func(s corev1.EnvFromSource) bool {
			return s.SecretRef != nil && s.SecretRef.Name == policies.Secret
		})
		if source || len(c.Env) == len(l.pod.Spec.Containers[i].Env)+6 {
			count++
		}
	}
	return count
}

// create creates pods one after the other, as a controller does, and returns how long each took.
func (l *lab) create(ctx context.Context, count int) ([]time.Duration, error) {
	took := make([]time.Duration, 0, count)
	for range count {
		begin := time.Now()
		if _, err := l.clients.CoreV1().Pods(namespace).Create(ctx, l.pod, metav1.CreateOptions{}); err != nil {
			return nil, err
		}
		took = append(took, time.Since(begin))
	}
	return took, nil
}

// clear removes the pods. There is no kubelet to wait for.
func (l *lab) clear(ctx context.Context) error {
	return l.clients.CoreV1().Pods(namespace).DeleteCollection(ctx,
		*metav1.NewDeleteOptions(0), metav1.ListOptions{})
}
