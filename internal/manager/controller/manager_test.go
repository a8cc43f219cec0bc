package controller

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/manager/controller/decide"
	"github.com/fairlead-io/fairlead/internal/manager/controller/machinery"
)

func TestTheLeaderAloneCountsTheFleet(t *testing.T) {
	elected := make(chan struct{})
	if leads(elected) {
		t.Error("a standby exports the fleet's gauges")
	}
	close(elected)
	if !leads(elected) {
		t.Error("the leader does not")
	}
}

// askedMapper notes what it is asked for.
type askedMapper struct {
	meta.RESTMapper
	asked []string
}

func (m *askedMapper) RESTMapping(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	m.asked = append(m.asked, kind.Kind)
	return m.RESTMapper.RESTMapping(kind, versions...)
}

func TestAKindThatStaysIsAskedForOnce(t *testing.T) {
	served := meta.NewDefaultRESTMapper(nil)
	of := &askedMapper{RESTMapper: served}
	m := &mapper{RESTMapper: of}
	secret, report, cluster := corev1.SchemeGroupVersion.WithKind("Secret"), v1alpha1.GroupVersion.WithKind("ProxyReport"), clusterv1.GroupVersion.WithKind("Cluster")
	if _, err := m.RESTMapping(report.GroupKind(), report.Version); !meta.IsNoMatchError(err) {
		t.Errorf("before its CRD is there: %v", err)
	}
	for _, kind := range []schema.GroupVersionKind{secret, report, cluster} {
		served.Add(kind, meta.RESTScopeNamespace)
	}
	for _, kind := range []schema.GroupVersionKind{secret, report, cluster, secret, report, cluster} {
		if found, err := m.RESTMapping(kind.GroupKind(), kind.Version); err != nil || found.GroupVersionKind != kind {
			t.Errorf("%s: %v, %v", kind, found, err)
		}
	}
	if want := []string{"ProxyReport", "Secret", "ProxyReport", "Cluster", "Cluster"}; !slices.Equal(of.asked, want) {
		t.Errorf("asked for %v, not %v", of.asked, want)
	}
}

func TestTheCacheKeepsOfAMachineWhatCountingNeeds(t *testing.T) {
	yes, gone := true, metav1.Unix(7, 0)
	full := func(labels map[string]string, references ...metav1.OwnerReference) *metav1.PartialObjectMetadata {
		labels[clusterv1.ClusterNameLabel] = "c1"
		labels["other"] = "x"
		return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: "m", UID: "u", ResourceVersion: "3", CreationTimestamp: metav1.Unix(5, 0), DeletionTimestamp: &gone,
			Labels: labels, Annotations: map[string]string{"a": "b"}, Finalizers: []string{"f"}, OwnerReferences: references,
		}}
	}
	other := metav1.OwnerReference{Kind: "Cluster", Name: "c1"}
	set := metav1.OwnerReference{Kind: "MachineSet", Name: "md-abc", Controller: &yes}
	for name, tc := range map[string]struct {
		machine *metav1.PartialObjectMetadata
		want    decide.Owner
	}{
		"of a MachineDeployment": {full(map[string]string{"cluster.x-k8s.io/deployment-name": "md"}, set), decide.Owner{Kind: "MachineDeployment", Name: "md"}},
		"of a MachineSet alone":  {full(map[string]string{"cluster.x-k8s.io/set-name": "ms"}, other, set), decide.Owner{Kind: "MachineSet", Name: "md-abc"}},
		"of a MachinePool": {
			full(map[string]string{"cluster.x-k8s.io/pool-name": "mp"}, metav1.OwnerReference{Kind: "DockerMachinePool", Name: "x", Controller: &yes}),
			decide.Owner{Kind: "MachinePool", Name: "mp"},
		},
		"of a control plane": {
			full(map[string]string{"cluster.x-k8s.io/control-plane-name": "hash_1_z"}, metav1.OwnerReference{Kind: "RKE2ControlPlane", Name: "cp", Controller: &yes}),
			decide.Owner{Kind: "RKE2ControlPlane", Name: "cp"},
		},
		"of nobody": {full(map[string]string{}, other), decide.Owner{}},
	} {
		t.Run(name, func(t *testing.T) {
			tc.machine.SetGroupVersionKind(clusterv1.GroupVersion.WithKind("Machine"))
			tc.machine.Generation = 1
			result, err := trim(tc.machine)
			kept, ok := result.(*metav1.PartialObjectMetadata)
			if err != nil || !ok {
				t.Fatal(err)
			}
			if got := decide.OwnerOf(kept); got != tc.want {
				t.Errorf("owner %v, want %v", got, tc.want)
			}
			if again, err := trim(kept); err != nil || again != result { // as client-go asks of a transform
				t.Errorf("the second time, %+v, %v", again, err)
			}
			if kept.Labels[clusterv1.ClusterNameLabel] != "c1" || len(kept.Labels) != 1 || kept.Annotations != nil || kept.Finalizers != nil {
				t.Errorf("kept too much, or not the cluster: %+v", kept.ObjectMeta)
			}
			if kept.ResourceVersion != "3" || kept.CreationTimestamp != metav1.Unix(5, 0) || kept.DeletionTimestamp == nil {
				t.Errorf("dropped too much: %+v", kept.ObjectMeta)
			}
		})
	}
}

func TestTheCacheKeepsTheLabelsOfANamespace(t *testing.T) {
	namespace := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Name: "ns", Labels: map[string]string{"team": "a"}, ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m"}},
	}}
	namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	result, err := trim(namespace)
	kept, ok := result.(*metav1.PartialObjectMetadata)
	if err != nil || !ok || kept.Labels["team"] != "a" || kept.ManagedFields != nil {
		t.Errorf("%+v, %v", result, err)
	}
}

func TestTheMetricIsOfWhatEndsNextByCorporateProxy(t *testing.T) {
	end := time.Unix(2_000_000_000, 0)
	now := end.Add(-time.Hour)
	report := &v1alpha1.ProxyReport{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c0"}}
	proxy := &v1alpha1.CorporateProxy{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	scheme, err := machinery.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	objects := fake.NewClientBuilder().WithScheme(scheme).WithObjects(report, proxy).WithStatusSubresource(report, proxy).Build()
	elected := make(chan struct{})
	close(elected)
	for _, step := range []struct {
		proxy, override *metav1.Time
		want            float64
	}{
		{nil, nil, 0},
		{&metav1.Time{Time: end}, nil, 2_000_000_000},
		{nil, &metav1.Time{Time: end.Add(1)}, 2_000_000_000},
		{&metav1.Time{Time: end}, &metav1.Time{Time: end.Add(-time.Minute)}, 2_000_000_000 - 60},
		{&metav1.Time{Time: end}, &metav1.Time{Time: end.Add(time.Minute)}, 2_000_000_000},
		{&metav1.Time{Time: end}, &metav1.Time{Time: now}, 2_000_000_000}, // of a cluster that is paused
		{&metav1.Time{Time: now.Add(-time.Hour)}, &metav1.Time{Time: end}, 2_000_000_000},
		{&metav1.Time{Time: now}, &metav1.Time{Time: now.Add(-time.Hour)}, 0},
	} {
		proxy.Status.NextEnd = step.proxy
		report.Status = v1alpha1.ProxyReportStatus{ProxyName: "default", Override: &v1alpha1.ReportedOverride{Ends: step.override}}
		if err := errors.Join(objects.Status().Update(t.Context(), proxy), objects.Status().Update(t.Context(), report)); err != nil {
			t.Fatal(err)
		}
		registry := prometheus.NewRegistry()
		registry.MustRegister(fleetCollector{objects, elected, func() time.Time { return now }})
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		got := 0.0
		for _, family := range families {
			if family.GetName() == "fairlead_exception_next_end_timestamp_seconds" {
				got = family.GetMetric()[0].GetGauge().GetValue()
			}
		}
		if got != step.want {
			t.Errorf("%v: %f", step, got)
		}
	}
}
