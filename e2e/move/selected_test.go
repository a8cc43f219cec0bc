package move_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
)

// Clusters that are moved to where there is a CorporateProxy, which selects neither.
const (
	next  = "next"  // had a proxy in the source
	plain = "plain" // never had one
)

func checkNotSelected(t *testing.T, source, target *management, run func()) {
	t.Helper()
	source.report(t, next)
	for _, m := range []*management{source, target} { // the CorporateProxy is there, but with a selector that nothing matches
		proxy := &v1alpha1.CorporateProxy{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
		patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"clusterSelector":{"matchLabels":{"typo":"yes"}}}}`))
		controlplanetest.Require(t, m.client.Patch(t.Context(), proxy, patch))
	}
	source.createWorkload(t, plain)
	source.report(t, plain)
	had, never := source.ours(t, next), source.ours(t, plain)
	mark := target.mark(t)
	run()

	target.checkKept(t, had)
	target.checkBlank(t, never)

	t.Run("after a restart", func(t *testing.T) {
		controlplanetest.Require(t, target.operator.Stop())
		target.startOperator(t)
		target.awaitReconciles(t, 4) // once each of the clusters
		target.checkKept(t, had)
	})
	for _, write := range target.secretWrites(t, mark) {
		if strings.Contains(write, next) {
			t.Error(write)
		}
	}
}

// checkKept awaits that the operator has decided, and said that the Secrets stay.
func (m *management) checkKept(t *testing.T, secrets map[string]*corev1.Secret) {
	t.Helper()
	ours := &v1alpha1.ProxyReport{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: next}}
	controlplanetest.AwaitObject(t, m.client, "the condition", ours, func(report *v1alpha1.ProxyReport) (bool, error) {
		ready := meta.FindStatusCondition(report.Status.Conditions, v1alpha1.ConditionReady)
		says := ready != nil && ready.Status == metav1.ConditionFalse && ready.Reason == "NotSelected"
		return controlplanetest.Holds(says && strings.Contains(ready.Message, "both Secrets stay as they are"), "it is %+v", ready)
	})
	for name, secret := range m.ours(t, next) {
		if !cmp.Equal(secrets[name].Data, secret.Data) {
			t.Errorf("%s is another", name) // not how: the password is in it
		}
	}
}

// checkBlank awaits that there is no proxy in the Secrets of a cluster, and that nothing is wrong with that.
func (m *management) checkBlank(t *testing.T, secrets map[string]*corev1.Secret) {
	t.Helper()
	for name, was := range secrets {
		cluster, _, _ := strings.Cut(name, "-")
		if report := m.report(t, cluster); report.Status.Mode != "Unproxied" || report.Annotations[v1alpha1.HadProxyAnnotation] != "false" {
			t.Errorf("%s: mode %s, noted %v", cluster, report.Status.Mode, report.Annotations)
		}
		is := m.ours(t, cluster)[name]
		if len(is.Data) < len(was.Data) {
			t.Errorf("%s has %d keys, had %d", name, len(is.Data), len(was.Data))
		}
		for key, content := range is.Data {
			if strings.Contains(string(content), "192.168.52.220") {
				t.Errorf("%s of %s has a proxy", key, name)
			}
		}
	}
}
