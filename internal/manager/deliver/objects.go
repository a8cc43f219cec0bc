package deliver

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	addonsv1 "sigs.k8s.io/cluster-api/api/addons/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/delivery"
	"github.com/fairlead-io/fairlead/internal/core/render"
)

const setKind = "ClusterResourceSet"

// setOf returns the ClusterResourceSet of a part. It goes with the Cluster.
func setOf(cluster *clusterv1.Cluster, part delivery.Part) *addonsv1.ClusterResourceSet {
	name := part.Name(cluster.Name)
	return &addonsv1.ClusterResourceSet{
		TypeMeta: metav1.TypeMeta{APIVersion: addonsv1.GroupVersion.String(), Kind: setKind},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: cluster.Namespace, Name: name, Labels: labelsOf(cluster.Name, part),
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: clusterv1.GroupVersion.String(), Kind: clusterv1.ClusterKind, Name: cluster.Name, UID: cluster.UID,
			}},
		},
		Spec: addonsv1.ClusterResourceSetSpec{
			ClusterSelector: metav1.LabelSelector{MatchLabels: map[string]string{v1alpha1.DeliverLabel: cluster.Name}},
			Resources:       []addonsv1.ResourceRef{{Kind: string(addonsv1.SecretClusterResourceSetResourceKind), Name: name}},
			Strategy:        part.Strategy(),
		},
	}
}

// secretOf goes with its ClusterResourceSet, so that nobody has to delete Secrets.
func secretOf(set *addonsv1.ClusterResourceSet, uid types.UID, payload []byte) *corev1.Secret {
	return &corev1.Secret{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: set.Namespace, Name: set.Name, Labels: set.Labels,
			OwnerReferences: []metav1.OwnerReference{{APIVersion: addonsv1.GroupVersion.String(), Kind: setKind, Name: set.Name, UID: uid}},
		},
		Type: addonsv1.ClusterResourceSetSecretType,
		Data: map[string][]byte{delivery.Key: payload},
	}
}

func labelsOf(cluster string, part delivery.Part) map[string]string {
	return map[string]string{v1alpha1.DeliverLabel: cluster, delivery.Label: string(part)}
}

// matches reports whether a ClusterResourceSet has the owner and the spec that it should have.
func matches(have, want *addonsv1.ClusterResourceSet) bool {
	return owned(have, want.OwnerReferences[0].UID) && equality.Semantic.DeepEqual(have.Spec, want.Spec)
}

// owned reports whether an object goes with the one of this UID.
func owned(o client.Object, by types.UID) bool {
	return slices.ContainsFunc(o.GetOwnerReferences(), func(owner metav1.OwnerReference) bool { return owner.UID == by })
}

// words returns what Cluster API says of a ClusterResourceSet that it has not applied.
func words(set *addonsv1.ClusterResourceSet) string {
	if set == nil {
		return "Cluster API does not have it yet"
	}
	said := meta.FindStatusCondition(set.Status.Conditions, addonsv1.ClusterResourceSetResourcesAppliedCondition)
	if said == nil || said.Status == metav1.ConditionTrue {
		return "Cluster API says nothing of ClusterResourceSet " + set.Name
	}
	return "Cluster API says of ClusterResourceSet " + set.Name + ": " + said.Reason + ", " + said.Message
}

// answerIn returns what a binding says of a part, nil for nothing.
func answerIn(binding *addonsv1.ClusterResourceSetBinding, name string) *addonsv1.ResourceBinding {
	for i := range binding.Spec.Bindings {
		if set := &binding.Spec.Bindings[i]; set.ClusterResourceSetName == name {
			return set.GetResource(addonsv1.ResourceRef{Kind: string(addonsv1.SecretClusterResourceSetResourceKind), Name: name})
		}
	}
	return nil
}

// trim keeps in the caches only the fields that are read.
func trim(object any) (any, error) {
	switch o := object.(type) {
	case *clusterv1.Cluster:
		kept := &clusterv1.Cluster{ObjectMeta: identity(o), Spec: clusterv1.ClusterSpec{Paused: o.Spec.Paused}}
		kept.Labels = selectKey(o.Labels, v1alpha1.DeliverLabel)
		kept.Annotations = selectKey(o.Annotations, clusterv1.PausedAnnotation)
		return kept, nil
	case *v1alpha1.ProxyReport:
		kept := &v1alpha1.ProxyReport{ObjectMeta: identity(o)}
		kept.Status.Delivered, kept.Status.Revision = o.Status.Delivered, o.Status.Revision
		kept.Status.Secrets = slices.DeleteFunc(slices.Clone(o.Status.Secrets), func(r v1alpha1.SecretRecord) bool { return r.Role != render.ValuesRole })
		return kept, nil
	case *addonsv1.ClusterResourceSet:
		kept := &addonsv1.ClusterResourceSet{ObjectMeta: identity(o), Spec: o.Spec, Status: addonsv1.ClusterResourceSetStatus{Conditions: o.Status.Conditions}}
		kept.Labels, kept.OwnerReferences = o.Labels, o.OwnerReferences
		return kept, nil
	case *addonsv1.ClusterResourceSetBinding:
		kept := &addonsv1.ClusterResourceSetBinding{ObjectMeta: identity(o)}
		source := delivery.Source.Name(o.Spec.ClusterName)
		kept.Spec.Bindings = slices.DeleteFunc(slices.Clone(o.Spec.Bindings), func(b addonsv1.ResourceSetBinding) bool { return b.ClusterResourceSetName != source })
		return kept, nil
	}
	return object, nil
}

func identity(o client.Object) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: o.GetNamespace(), Name: o.GetName(), UID: o.GetUID(), ResourceVersion: o.GetResourceVersion(), DeletionTimestamp: o.GetDeletionTimestamp(),
	}
}

// selectKey returns a map with this key alone, or nil if the key is not there.
func selectKey(all map[string]string, key string) map[string]string {
	if value, ok := all[key]; ok {
		return map[string]string{key: value}
	}
	return nil
}
