package credentials

import (
	"context"
	"fmt"
	"net"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// podsAPage bounds what a list takes at a time: 5,000 relays have more megabytes than this program.
const podsAPage = 500

// addresses returns where the metrics are of all pods with these labels that may run; empty for one without the port.
func (c *Counter) addresses(ctx context.Context, selector, port string) ([]string, error) {
	var all []string
	for options := (metav1.ListOptions{LabelSelector: selector, Limit: podsAPage}); ; {
		page, err := c.List(ctx, options)
		if err != nil {
			return nil, err
		}
		for i := range page.Items {
			if address, runs := addressOf(&page.Items[i], port); runs {
				all = append(all, address)
			}
		}
		if options.Continue = page.Continue; options.Continue == "" {
			return all, nil
		}
	}
}

// addressOf returns where the pod's metrics are. A container that waits, or has ended, has no process; of one without a status yet
// the pod's phase decides.
func addressOf(pod *corev1.Pod, name string) (address string, runs bool) {
	for _, container := range pod.Spec.Containers {
		for _, port := range container.Ports {
			if port.Name == name {
				return net.JoinHostPort(pod.Status.PodIP, fmt.Sprint(port.ContainerPort)), mayRun(pod, container.Name)
			}
		}
	}
	return "", mayRun(pod, "")
}

func mayRun(pod *corev1.Pod, container string) bool {
	for _, status := range pod.Status.ContainerStatuses {
		if status.Name == container {
			return status.State.Running != nil
		}
	}
	return pod.Status.Phase == corev1.PodRunning || pod.Status.Phase == corev1.PodUnknown
}
