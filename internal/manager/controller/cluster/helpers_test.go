package cluster

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/proxyurl"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/internal/manager/controller/decide"
)

func aState(t *testing.T) decide.State {
	t.Helper()
	url, err := proxyurl.Parse("http://u:hunter2@proxy.example:3128")
	if err != nil {
		t.Fatal(err)
	}
	return decide.State{
		Cluster: &clusterv1.Cluster{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c1", UID: "u", Generation: 3},
			Spec:       clusterv1.ClusterSpec{ControlPlaneEndpoint: clusterv1.APIEndpoint{Host: "10.0.0.1"}},
		},
		Installation: resolve.Installation{Name: "default", HTTP: url},
	}
}

func deleted(generation int64, finalizers ...string) *v1alpha1.ProxyReport {
	at := metav1.Unix(1000, 0)
	return &v1alpha1.ProxyReport{ObjectMeta: metav1.ObjectMeta{
		Generation: generation, DeletionTimestamp: &at, Finalizers: append(finalizers, v1alpha1.ReportFinalizer),
	}}
}
