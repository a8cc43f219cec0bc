package waves

import (
	"fmt"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/revision"
	"github.com/fairlead-io/fairlead/internal/core/rollout"
	"github.com/fairlead-io/fairlead/internal/manager/controller/settings"
)

// A change that replaces one that was never written: the Secrets have neither.
func TestSecretsThatWereNotWrittenForTwoChangesHaveTheOldCredentials(t *testing.T) {
	var known []*settings.Stored
	reported := func(number int64) v1alpha1.ReportedRevision {
		return v1alpha1.ReportedRevision{Proxy: "corp", Number: number, Digest: fmt.Sprint("d", number)}
	}
	for number := range int64(3) {
		s := &settings.Stored{}
		s.Proxy, s.Number, s.Digest = "corp", number+1, reported(number+1).Digest
		known = append(known, s)
	}
	has := reported(1)
	record := revision.Record{ReportedRevision: reported(3), Before: &revision.Before{Number: 2, Digest: "d2"}}
	f := &fleet{holders: map[string][]rollout.Holder{}, clusters: map[string]map[int64]int32{}, machines: map[string]map[int64]int32{}}
	f.hold("corp", &rollout.Row{Record: &record}, &v1alpha1.ProxyReport{Status: v1alpha1.ProxyReportStatus{Mode: "Proxied", Revision: &has}}, known)
	if got := f.holders["corp"][0].Revisions; !slices.Contains(got, 1) {
		t.Errorf("the Secrets have revision 1, and count as %v", got)
	}
}

func TestOfAClusterThatIsGoneNothingIsRemembered(t *testing.T) {
	gone, there := types.NamespacedName{Namespace: "ns", Name: "gone"}, types.NamespacedName{Namespace: "ns", Name: "there"}
	r := &Reconciler{facts: map[types.NamespacedName]string{gone: "a", there: "b"}, assigned: map[types.NamespacedName]revision.Record{gone: {}, there: {}}}
	r.forgetGone([]clusterv1.Cluster{{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "there"}}})
	_, facts := r.facts[there]
	_, assigned := r.assigned[there]
	if !facts || !assigned || len(r.facts)+len(r.assigned) != 2 {
		t.Errorf("%v, %v", r.facts, r.assigned)
	}
}
