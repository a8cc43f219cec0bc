package controlplane_test

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
)

func TestContentIsInstalledOnceAndAnewWhereItHasChanged(t *testing.T) {
	manifest := func(text string) []byte { // the cache outlives a run
		return fmt.Appendf(nil, "{apiVersion: v1, kind: Namespace, metadata: {name: example, annotations: {of: %q, has: %q}}}", t.TempDir(), text)
	}
	first, second := manifest("first"), manifest("second")
	start := func(manifest []byte) (*controlplane.ControlPlane, *corev1.Namespace) {
		content := controlplane.Content{
			Name: "example", Labels: map[string]string{"example": "yes"},
			Read: func(context.Context) ([]byte, error) { return manifest, nil },
		}
		cp := controlplanetest.Start(t, controlplane.Options{Content: []controlplane.Content{content}})
		controlplanetest.Require(t, cp.Install(t.Context(), content)) // it is there
		namespace, err := controlplanetest.Clients(t, cp).CoreV1().Namespaces().Get(t.Context(), "example", metav1.GetOptions{})
		controlplanetest.Require(t, err)
		return cp, namespace
	}
	cp, one := start(first)
	if _, same := start(first); same.UID != one.UID || same.ResourceVersion != one.ResourceVersion {
		t.Errorf("the same content was installed again: %v, %v", same.ObjectMeta, one.ObjectMeta)
	}
	if _, other := start(second); other.UID == one.UID || other.Annotations["has"] != "second" || other.Labels["example"] != "yes" {
		t.Errorf("other content: %v", other.ObjectMeta)
	}

	// It is a control plane as any other.
	_, err := controlplanetest.Clients(t, cp).CoreV1().ConfigMaps("example").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "new"}}, metav1.CreateOptions{})
	controlplanetest.Require(t, err)
}
