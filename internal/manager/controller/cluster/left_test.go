package cluster

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

// A cluster that nothing selects any more keeps its Secrets, and so the password in them.
func TestAClusterThatIsSelectedNoMoreStillHasTheOldCredentials(t *testing.T) {
	w := newWaveFleet(t, 3)
	w.round()
	w.round()
	w.changeProxy(func(p *v1alpha1.CorporateProxy) {
		p.Spec.ClusterSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "left", Operator: metav1.LabelSelectorOpDoesNotExist}}}
	})
	cluster := &clusterv1.Cluster{}
	w.must(w.objects.Get(t.Context(), types.NamespacedName{Namespace: "ns", Name: "c2"}, cluster))
	cluster.Labels = map[string]string{"left": "yes"}
	w.must(w.objects.Update(t.Context(), cluster))
	w.setPassword("new-password")
	for range 4 {
		w.round()
	}
	if w.numbers() != "2 2 1" {
		t.Fatal(w.numbers())
	}
	current := w.said().Credentials[0].Fingerprint
	for _, name := range []string{"c0", "c1"} { // nobody observes the third
		w.observe(name, func(o *v1alpha1.Observed) {
			*o = v1alpha1.Observed{
				Time: metav1.NewTime(time.Now().Add(time.Minute)), Since: &metav1.Time{Time: time.Now().Add(-time.Hour)},
				Period: &metav1.Duration{Duration: 10 * time.Second}, Egress: v1alpha1.EgressVerified,
				Credentials: []v1alpha1.ObservedCredentials{{Fingerprint: current, Relays: 1}},
			}
		})
	}
	_, err := w.Waves.Reconcile(t.Context(), ctrl.Request{})
	w.must(err)
	if c := meta.FindStatusCondition(w.said().Conditions, v1alpha1.ConditionOldCredentialsUnseen); c == nil || c.Status == metav1.ConditionTrue {
		t.Errorf("the third cluster's Secrets have the old password: %+v", c)
	}
}
