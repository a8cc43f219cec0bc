package controller

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

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
