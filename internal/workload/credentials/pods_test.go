package credentials

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A page is as long as is asked for, and nothing of it is kept but where metrics are.
func TestManyPodsAreListedInPages(t *testing.T) {
	const pods = 1234
	var asked []string
	fails := ""
	c := New(Options{List: func(_ context.Context, o metav1.ListOptions) (*corev1.PodList, error) {
		asked = append(asked, fmt.Sprint(o.LabelSelector, " ", o.Limit, " ", o.Continue))
		if o.Continue == fails {
			return nil, errors.New("410")
		}
		from, _ := strconv.Atoi(o.Continue)
		until := min(from+int(o.Limit), pods)
		page := &corev1.PodList{}
		for i := from; i < until; i++ {
			pod := corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "10.0.0.1"}}
			pod.Spec.Containers = []corev1.Container{{Name: "relay", Ports: []corev1.ContainerPort{{Name: relayPort, ContainerPort: int32(1 + i)}}}}
			pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "relay", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
			page.Items = append(page.Items, pod)
		}
		if until < pods {
			page.Continue = strconv.Itoa(until)
		}
		return page, nil
	}})
	fails = "none"
	found, err := c.addresses(t.Context(), "a=b", relayPort)
	if got := strings.Join(asked, ", "); err != nil || len(found) != pods || got != "a=b 500 , a=b 500 500, a=b 500 1000" {
		t.Fatalf("%d pods, %v: %s", len(found), err, got)
	}
	if last := found[pods-1]; last != fmt.Sprint("10.0.0.1:", pods) {
		t.Errorf("%s", last)
	}
	fails = "500"
	if found, err := c.addresses(t.Context(), "a=b", relayPort); err == nil || found != nil {
		t.Errorf("%d pods, %v: part of them is none", len(found), err)
	}
}
