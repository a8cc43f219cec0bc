package apply

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/render"
)

// Object returns the Secret as it is sent to the API server. Without owner (nil)
// it is what the command line prints. The type is left to its default, Opaque:
// sent explicitly, it would turn "not ours" into "type is immutable".
func Object(s render.Secret, owner *v1alpha1.ProxyReport) *corev1.Secret {
	return &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Name, Labels: s.Labels, OwnerReferences: owners(owner)},
		Data:       s.Data,
	}
}

// ConfigMap is the same for the ConfigMap.
func ConfigMap(c render.ConfigMap, owner *v1alpha1.ProxyReport) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: c.Name, Labels: c.Labels, OwnerReferences: owners(owner)},
		Data:       c.Data,
	}
}

// Title returns what messages call an object.
func Title(object client.Object) string {
	return object.GetObjectKind().GroupVersionKind().Kind + " " + object.GetName()
}

// Share returns the object with the Cluster as its second owner. It is not among
// the owners that Object gives, since Fingerprint is of these: what was written by
// an earlier version is not due for the second owner alone.
func Share[T client.Object](object T, cluster *clusterv1.Cluster) T {
	shared := object.DeepCopyObject().(T)
	shared.SetOwnerReferences(append(shared.GetOwnerReferences(), metav1.OwnerReference{
		APIVersion: clusterv1.GroupVersion.String(),
		Kind:       clusterv1.ClusterKind,
		Name:       cluster.Name,
		UID:        cluster.UID,
	}))
	return shared
}

// owners: the cluster's ProxyReport rather than the Cluster alone, since foreground
// deletion of a Cluster would remove the Secret while machines still need it.
func owners(report *v1alpha1.ProxyReport) []metav1.OwnerReference {
	if report == nil {
		return nil
	}
	return []metav1.OwnerReference{{
		APIVersion: v1alpha1.GroupVersion.String(),
		Kind:       "ProxyReport",
		Name:       report.Name,
		UID:        report.UID,
	}}
}
