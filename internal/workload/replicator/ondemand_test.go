package replicator

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestOfAPodOnlyItsReferenceIsKept(t *testing.T) {
	agent := corev1.PodSpec{Containers: []corev1.Container{{Name: "agent", EnvFrom: []corev1.EnvFromSource{{
		SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "fairlead-proxy"}},
	}}}}}
	for name, row := range map[string]struct {
		pod  corev1.Pod
		want bool
	}{
		"an agent":                {corev1.Pod{Spec: agent}, true},
		"an agent that has ended": {corev1.Pod{Spec: agent, Status: corev1.PodStatus{Phase: corev1.PodSucceeded}}, false},
		"one that mounts the bundle": {corev1.Pod{Spec: corev1.PodSpec{Volumes: []corev1.Volume{{Name: "ca", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: "fairlead-trusted-ca"},
		}}}}}}, true},
		"any other": {corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "dns"}}}}, false},
	} {
		row.pod.ObjectMeta = metav1.ObjectMeta{Namespace: "kube-system", Name: "x", UID: "u", ResourceVersion: "7", Annotations: map[string]string{"a": "b"}}
		kept, err := referral(&row.pod)
		if err == nil {
			kept, err = referral(kept) // a cache may do it twice
		}
		if err != nil {
			t.Fatal(err)
		}
		pod := kept.(*corev1.Pod)
		if (pod.Annotations[refers] != "") != row.want || pod.Annotations["a"] != "" || len(pod.Spec.Containers) > 0 || pod.UID != "u" || pod.ResourceVersion != "7" {
			t.Errorf("%s: kept is %v", name, pod)
		}
	}
	if none, err := newOnDemand(nil, nil); err != nil || none.pods != nil {
		t.Error("without such namespaces, pods of all are watched")
	}
}
