package controller

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/manager/controller/cluster"
	"github.com/fairlead-io/fairlead/internal/manager/controller/decide"
	"github.com/fairlead-io/fairlead/internal/manager/controller/findings"
	"github.com/fairlead-io/fairlead/internal/manager/intern"
)

// trimMachine keeps of a machine what counting needs: there are far more of them than of anything else. What the
// machines of one cluster have in common is kept once.
func trimMachine(object any) (any, error) {
	meta, ok := object.(*metav1.PartialObjectMetadata)
	if !ok || meta.Generation == 0 { // it comes through here twice; what the API server sends has a generation
		return object, nil
	}
	kept := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{Kind: intern.Text(meta.Kind), APIVersion: intern.Text(meta.APIVersion)}, ObjectMeta: metav1.ObjectMeta{
		Namespace: intern.Text(meta.Namespace), Name: meta.Name, ResourceVersion: meta.ResourceVersion,
		CreationTimestamp: meta.CreationTimestamp, DeletionTimestamp: meta.DeletionTimestamp,
	}}
	if o := decide.OwnerOf(meta); o != (decide.Owner{}) {
		kept.OwnerReferences = ownersOnce.Get(o, func() []metav1.OwnerReference {
			return []metav1.OwnerReference{{Kind: o.Kind, Name: o.Name, Controller: ptr.To(true)}} // ownerOf finds it again
		})
	}
	if cluster := meta.Labels[clusterv1.ClusterNameLabel]; cluster != "" {
		kept.Labels = labelsOnce.Get(cluster, func() map[string]string { return map[string]string{clusterv1.ClusterNameLabel: cluster} })
	}
	return kept, nil
}

// Of 5,000 clusters, some owners each.
var (
	ownersOnce = intern.Map[decide.Owner, []metav1.OwnerReference]{Most: 50_000}
	labelsOnce = intern.Map[string, map[string]string]{Most: 50_000}
)

// newInformer gives machines, of which there are far more than of anything else, the one index that is read. The name and
// the form of its keys are those by which controller-runtime's caches look for a field in a namespace.
func newInformer(lw toolscache.ListerWatcher, object runtime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
	if machines, ok := object.(*metav1.PartialObjectMetadata); ok && machines.GroupVersionKind().Group == clusterv1.GroupVersion.Group {
		indexers = toolscache.Indexers{"field:" + cluster.ClusterIndex: func(o any) ([]string, error) {
			m, err := meta.Accessor(o)
			if err != nil {
				return nil, err
			}
			return []string{m.GetNamespace() + "/" + m.GetLabels()[clusterv1.ClusterNameLabel]}, nil
		}}
	}
	return toolscache.NewSharedIndexInformer(lw, object, resync, indexers)
}

// trim drops from the caches what the operator does not read. (Transforms of single kinds would need these to be
// installed.)
func trim(object any) (any, error) {
	switch o := object.(type) {
	case *metav1.PartialObjectMetadata:
		if o.GroupVersionKind().Group == clusterv1.GroupVersion.Group {
			return trimMachine(o)
		}
	case *clusterv1.Cluster:
		return trimCluster(o), nil
	case *v1alpha1.ProxyReport:
		return trimReport(o), nil
	}
	return cache.TransformStripManagedFields()(object)
}

// trimReport has one copy of each text that most reports have.
func trimReport(report *v1alpha1.ProxyReport) *v1alpha1.ProxyReport {
	if len(report.ManagedFields) > 0 {
		report.ManagedFields = []metav1.ManagedFieldsEntry{{}} // that there are some
	}
	report.Labels, report.Annotations = intern.Pairs(report.Labels), intern.Pairs(report.Annotations)
	status := &report.Status
	texts := []*string{&report.Namespace, &status.Mode, &status.ProxyName, &status.Form}
	for i := range status.Entries {
		texts = append(texts, &status.Entries[i].Value, &status.Entries[i].Source, &status.Entries[i].Field)
	}
	for i := range status.Conditions {
		texts = append(texts, &status.Conditions[i].Type, &status.Conditions[i].Reason, &status.Conditions[i].Message)
	}
	for i := range status.Secrets {
		texts = append(texts, &status.Secrets[i].Role)
	}
	if revision := status.Revision; revision != nil {
		texts = append(texts, &revision.Proxy, &revision.Digest, &revision.Override, &revision.Facts)
	}
	if facts := status.Facts; facts != nil {
		texts = append(texts, &facts.Version, &facts.Source, &facts.Kind)
	}
	for _, text := range texts {
		*text = intern.Text(*text)
	}
	status.Findings = findings.Shared(status.Findings)
	// Decoding leaves room for twice as many.
	status.Entries = slices.Clone(status.Entries)
	status.Conditions = slices.Clone(status.Conditions)
	status.Secrets = slices.Clone(status.Secrets)
	return report
}

// trimCluster keeps of a Cluster what decides about its proxy.
func trimCluster(c *clusterv1.Cluster) *clusterv1.Cluster {
	kept := &clusterv1.Cluster{TypeMeta: c.TypeMeta, ObjectMeta: metav1.ObjectMeta{
		Namespace: intern.Text(c.Namespace), Name: c.Name, UID: c.UID, ResourceVersion: c.ResourceVersion, Generation: c.Generation,
		CreationTimestamp: c.CreationTimestamp, DeletionTimestamp: c.DeletionTimestamp, Labels: c.Labels, Finalizers: c.Finalizers,
	}}
	if value, ok := c.Annotations[clusterv1.PausedAnnotation]; ok {
		kept.Annotations = map[string]string{clusterv1.PausedAnnotation: value}
	}
	kept.Spec = clusterv1.ClusterSpec{
		Paused: c.Spec.Paused, ClusterNetwork: c.Spec.ClusterNetwork, ControlPlaneEndpoint: c.Spec.ControlPlaneEndpoint,
		ControlPlaneRef: c.Spec.ControlPlaneRef, InfrastructureRef: c.Spec.InfrastructureRef,
	}
	kept.Spec.Topology.ClassRef.Name = intern.Text(c.Spec.Topology.ClassRef.Name)
	return kept
}
