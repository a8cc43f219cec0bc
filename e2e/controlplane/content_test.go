package controlplane_test

import (
	"context"
	"fmt"
	"io"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
)

func TestContentIsInstalledOnceAndAnewWhereItHasChanged(t *testing.T) {
	installed, text, run := 0, "first", t.TempDir() // the cache outlives a run
	content := controlplane.Content{
		Name:   "example",
		Digest: func(_ context.Context, w io.Writer) error { _, err := fmt.Fprint(w, text, run); return err },
		Install: func(ctx context.Context, cp *controlplane.ControlPlane) error {
			installed++
			return cp.Apply(ctx, fmt.Appendf(nil, "{apiVersion: v1, kind: Namespace, metadata: {name: %s}}", text))
		},
	}
	start := func() *controlplane.ControlPlane {
		return controlplanetest.Start(t, controlplane.Options{Content: []controlplane.Content{content}})
	}
	check := func(cp *controlplane.ControlPlane, namespace string, times int) {
		t.Helper()
		_, err := controlplanetest.Clients(t, cp).CoreV1().Namespaces().Get(t.Context(), namespace, metav1.GetOptions{})
		controlplanetest.Require(t, err)
		if installed != times {
			t.Errorf("it was installed %d times, want %d", installed, times)
		}
	}
	first := start()
	check(first, "first", 1)
	controlplanetest.Require(t, first.Install(t.Context(), content))
	check(first, "first", 1)
	check(start(), "first", 1)
	text = "second"
	check(start(), "second", 2)

	// It is a control plane as any other.
	_, err := controlplanetest.Clients(t, first).CoreV1().ConfigMaps("first").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "new"}}, metav1.CreateOptions{})
	controlplanetest.Require(t, err)
}
