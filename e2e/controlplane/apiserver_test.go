package controlplane_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
)

func TestARestartOfTheAPIServerKeepsDataAndClientsComeBack(t *testing.T) {
	t.Parallel()
	cp := controlplanetest.Start(t, controlplane.Options{})
	clients := controlplanetest.Clients(t, cp)
	factory := informers.NewSharedInformerFactoryWithOptions(clients, 0, informers.WithNamespace("default"))
	seen := factory.Core().V1().ConfigMaps().Lister().ConfigMaps("default")
	factory.Start(t.Context().Done())
	for _, synced := range factory.WaitForCacheSync(t.Context().Done()) {
		if !synced {
			t.Fatal("the informer does not start")
		}
	}
	create := func(name string) {
		t.Helper()
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
		_, err := clients.CoreV1().ConfigMaps("default").Create(t.Context(), object, metav1.CreateOptions{})
		controlplanetest.Require(t, err)
	}
	create("before")

	controlplanetest.Require(t, cp.StopAPIServer())
	if _, err := clients.Discovery().ServerVersion(); err == nil {
		t.Fatal("the API server answers although it was stopped")
	}
	controlplanetest.Require(t, cp.StartAPIServer(t.Context()))

	if _, err := clients.CoreV1().ConfigMaps("default").Get(t.Context(), "before", metav1.GetOptions{}); err != nil {
		t.Errorf("what was written before the restart: %v", err)
	}
	create("after")
	controlplanetest.Await(t, "the informer to see what was written after the restart", func(context.Context) (bool, error) {
		_, err := seen.Get("after")
		return err == nil, err
	})
}
