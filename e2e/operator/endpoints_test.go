package operator_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/operator"
	"github.com/fairlead-io/fairlead/e2e/tier"
)

const management = "mgmt"

func endpointHost(host string) func(*clusterv1.Cluster) {
	return func(c *clusterv1.Cluster) { c.Spec.ControlPlaneEndpoint.Host = host }
}

// awaitEndpoints awaits the condition of the management cluster's report: True, or False with these hosts.
func (f *fixture) awaitEndpoints(proxied ...string) *v1alpha1.ProxyReport {
	f.Helper()
	hosts := strings.Join(proxied, ", ")
	return f.awaitReport(management, "EndpointsDirect with ["+hosts+"]", func(r *v1alpha1.ProxyReport) bool {
		c := meta.FindStatusCondition(r.Status.Conditions, v1alpha1.ConditionEndpointsDirect)
		if c == nil || c.ObservedGeneration != r.Generation {
			return false
		}
		if len(proxied) == 0 {
			return c.Status == metav1.ConditionTrue && c.Reason == v1alpha1.ReasonEndpointsBypassed
		}
		return c.Status == metav1.ConditionFalse && c.Reason == v1alpha1.ReasonEndpointsThroughProxy && strings.HasSuffix(c.Message, ": "+hosts)
	})
}

// The controllers of the management cluster dial the endpoint of every other cluster.
func TestTheManagementClustersReportSaysWhoseEndpointItDialsThroughTheProxy(t *testing.T) {
	tier.Full(t)
	cp := controlplanetest.Start(t, controlplane.Options{Content: operator.Content})
	install(t, cp)
	f := fixtureOn(t, cp, nil)
	f.startOperator("--management-cluster=" + f.namespace + "/" + management)
	proxy := f.exampleProxy()
	f.cluster(management)
	f.awaitEndpoints()

	// As endpoints appear, change and go. 172.16.0.0/16 is in the list.
	f.cluster("inside", endpointHost("172.16.4.5"))
	late := f.cluster("late", endpointHost(""))
	f.report("late", "EndpointUnknown")
	f.cluster("outside", endpointHost("fd00::1"))
	f.awaitEndpoints("fd00::1")
	modify(f, late, endpointHost("api.late.test"))
	report := f.awaitEndpoints("api.late.test", "fd00::1")
	if ready := meta.FindStatusCondition(report.Status.Conditions, v1alpha1.ConditionReady); ready.Status != metav1.ConditionTrue {
		t.Errorf("the endpoints of others are no reason not to be Ready: %+v", ready)
	}
	f.must(f.client.Delete(t.Context(), late))
	f.awaitEndpoints("fd00::1")

	// Nobody else's report names the endpoints of others.
	if others := f.report("inside", "Applied"); meta.FindStatusCondition(others.Status.Conditions, v1alpha1.ConditionEndpointsDirect) != nil {
		t.Error("a tenant's report has the condition")
	}

	// As its own list changes.
	modify(f, proxy, func(p *v1alpha1.CorporateProxy) {
		p.Spec.NoProxy = []v1alpha1.NoProxyEntry{{Value: "fd00::/8"}}
	})
	report = f.awaitEndpoints()

	// A new look at everything writes nothing to this report.
	f.report("outside", "Applied")
	f.awaitReconciled(0)
	mark, err := cp.AuditMark()
	f.must(err)
	before := f.reconciles()
	f.touchAll("1")
	f.awaitReconciled(before + 3)
	events, err := cp.AuditEvents(mark, controlplane.Writes, controlplane.ByUser(operator.User), func(e auditv1.Event) bool {
		return e.ObjectRef != nil && e.ObjectRef.Resource == "proxyreports" && e.ObjectRef.Name == management
	})
	f.must(err)
	for _, e := range events {
		t.Errorf("%s %s", e.Verb, e.RequestURI)
	}

	// One more cluster that is covered is no reason to write either.
	f.cluster("another", endpointHost("fd00::2"))
	f.report("another", "Applied")
	after := f.reapply(management, "another look")
	if diff := cmp.Diff(report.Status.Conditions, after.Status.Conditions); diff != "" {
		t.Errorf("a cluster that is covered changes the report: %s", diff)
	}
}
