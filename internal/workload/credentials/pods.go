package credentials

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// podsAPage bounds what a list takes at a time: 5,000 relays have more megabytes than this program.
const podsAPage = 500

// InPages lists pods by their labels, a page at a time, and keeps what says where their metrics are.
func InPages(list func(context.Context, metav1.ListOptions) (*corev1.PodList, error)) func(context.Context, string) ([]corev1.Pod, error) {
	return func(ctx context.Context, selector string) ([]corev1.Pod, error) {
		var all []corev1.Pod
		for options := (metav1.ListOptions{LabelSelector: selector, Limit: podsAPage}); ; {
			page, err := list(ctx, options)
			if err != nil {
				return nil, err
			}
			for i := range page.Items {
				all = append(all, trimmed(&page.Items[i]))
			}
			if options.Continue = page.Continue; options.Continue == "" {
				return all, nil
			}
		}
	}
}

// trimmed is what addressOf reads of a pod.
func trimmed(pod *corev1.Pod) corev1.Pod {
	kept := corev1.Pod{Status: corev1.PodStatus{Phase: pod.Status.Phase, PodIP: pod.Status.PodIP}}
	kept.Name = pod.Name
	for _, container := range pod.Spec.Containers {
		kept.Spec.Containers = append(kept.Spec.Containers, corev1.Container{Name: container.Name, Ports: container.Ports})
	}
	for _, status := range pod.Status.ContainerStatuses {
		kept.Status.ContainerStatuses = append(kept.Status.ContainerStatuses, corev1.ContainerStatus{Name: status.Name, State: status.State})
	}
	return kept
}
