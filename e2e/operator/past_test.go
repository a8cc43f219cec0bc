package operator_test

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/operator"
)

// What neither clusterctl move nor a backup carries is the status; what was written is to be remembered all the same.
func TestThatAClusterHadAProxyIsNotedBeforeItsSecretsAreWrittenAndOnlyOnce(t *testing.T) {
	f := newFixture(t)
	f.exampleProxy()
	labelled := f.cluster("c1")
	cluster := f.cluster("c2", func(c *clusterv1.Cluster) { c.Labels = nil })
	noted := func(name, want string) *v1alpha1.ProxyReport {
		return f.awaitReport(name, "the note "+want, func(r *v1alpha1.ProxyReport) bool {
			return r.Annotations[v1alpha1.HadProxyAnnotation] == want && !notReady(r)
		})
	}
	f.report("c1", "Applied")
	f.report("c2", "Applied")
	noted("c1", "true")
	noted("c2", "false")

	mark, err := f.cp.AuditMark()
	f.must(err)
	modify(f, cluster, func(c *clusterv1.Cluster) { c.Labels = labelled.Labels })
	f.awaitNoProxy("c2", exampleMerged)
	noted("c2", "true")
	if writes := f.writesTo(mark, "c2"); len(writes) < 3 || writes[0] != "patch proxyreports" || slices.Contains(writes[1:], "patch proxyreports") {
		t.Errorf("%v", writes)
	}

	// A report of an earlier version has a status and no note; one that somebody took it from is the same.
	for name, patch := range map[string]string{"gone": "null", "wrong": `"false"`} {
		mark, err := f.cp.AuditMark()
		f.must(err)
		report := noted("c1", "true")
		f.must(f.client.Patch(t.Context(), report, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"`+v1alpha1.HadProxyAnnotation+`":`+patch+`}}}`))))
		report = noted("c1", "true")
		if writes := f.writesTo(mark, "c1"); !slices.Equal(writes, []string{"patch proxyreports"}) {
			t.Errorf("%s: %v", name, writes)
		}
		if len(report.ManagedFields) > 0 {
			t.Errorf("%s: the report has managed fields, which make each write of its status dearer", name)
		}
	}
}

// writesTo are the operator's, but of a status and Events, to what belongs to a cluster.
func (f *fixture) writesTo(since controlplane.AuditMark, cluster string) (found []string) {
	f.Helper()
	events, err := f.cp.AuditEvents(since, controlplane.Writes, controlplane.ByUser(operator.User), func(e auditv1.Event) bool {
		return e.ObjectRef != nil && e.ObjectRef.Namespace == f.namespace && e.ObjectRef.Subresource == "" && e.ObjectRef.Resource != "events" &&
			(e.ObjectRef.Name == cluster || strings.HasPrefix(e.ObjectRef.Name, cluster+"-"))
	})
	f.must(err)
	for _, e := range events {
		found = append(found, e.Verb+" "+e.ObjectRef.Resource)
	}
	return found
}
