package apply

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/operator/render"
)

// Object returns the Secret as it is sent to the API server. The owner is the
// cluster's ProxyReport rather than the Cluster: foreground deletion of a
// Cluster would remove the Secret while machines still need it. Without owner
// (nil) it is what the command line prints. The type is left to its default,
// Opaque: sent explicitly, it would turn "not ours" into "type is immutable".
func Object(s render.Secret, owner *v1alpha1.ProxyReport) *corev1.Secret {
	secret := &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Name, Labels: s.Labels},
		Data:       s.Data,
	}
	if owner != nil {
		secret.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: v1alpha1.GroupVersion.String(),
			Kind:       "ProxyReport",
			Name:       owner.Name,
			UID:        owner.UID,
		}}
	}
	return secret
}
