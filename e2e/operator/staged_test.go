package operator_test

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/operator"
	"github.com/fairlead-io/fairlead/e2e/tier"
	"github.com/fairlead-io/fairlead/internal/core/render"
)

// Everything is annotated, and only canary=true selected. The rest of the fleet must not be cut off.
func TestAStagedMigrationBlanksNothing(t *testing.T) {
	f := newOwnFixture(t)
	adopt := map[string]string{"fairlead.io/adopt": "true"}
	var kept []*corev1.Secret
	for _, cluster := range []string{"canary", "rest", "half", "foreign"} {
		annotations := adopt
		if cluster == "foreign" {
			annotations = nil
		}
		if cluster != "half" { // has one of them
			kept = append(kept, f.theirs(cluster+render.ValuesSuffix, "values", annotations))
		}
		kept = append(kept, f.theirs(cluster+render.SystemdSuffix, "containerdProxy", annotations))
	}
	canary, kept := kept[:2], kept[2:]
	configMap := configMapNamed(f.namespace, "canary"+render.ValuesSuffix)
	configMap.Annotations, configMap.BinaryData = adopt, map[string][]byte{"binary": {1}}
	configMap.Data = map[string]string{"values": "theirs", "third": "theirs"}
	f.must(f.client.Create(t.Context(), configMap))
	f.exampleProxy(ofCanaries, func(p *v1alpha1.CorporateProxy) { p.Spec.ClusterValues.ConfigMap = true })
	rest := f.cluster("rest")
	f.cluster("half")
	f.cluster("foreign")
	f.servedCluster("canary", isCanary)
	for i, secret := range canary {
		if is := f.secret(secret.Name); is.UID != secret.UID || len(is.Data) != []int{1, 2}[i] {
			t.Errorf("%s was not adopted, or not whole: it has %d keys", secret.Name, len(is.Data))
		}
	}
	theirs := configMap.UID
	f.must(f.client.Get(t.Context(), client.ObjectKeyFromObject(configMap), configMap))
	if configMap.UID != theirs || len(configMap.Data) != 1 || configMap.Data["values"] == "theirs" || len(configMap.BinaryData) != 0 {
		t.Errorf("the ConfigMap was not adopted, or not whole: %+v", configMap)
	}
	check := func(when string) {
		t.Helper()
		for _, cluster := range []string{"rest", "half", "foreign"} {
			report := f.report(cluster, "NotSelected")
			if report.Annotations[v1alpha1.HadProxyAnnotation] != "true" || !strings.Contains(readyMessage(report), "both Secrets stay as they are") {
				t.Errorf("%s, %s: noted %v: %s", when, cluster, report.Annotations, readyMessage(report))
			}
		}
		for _, secret := range kept {
			if is := f.secret(secret.Name); is == nil || is.ResourceVersion != secret.ResourceVersion {
				t.Errorf("%s: %s was written or deleted", when, secret.Name)
			}
		}
	}
	check("at first")
	f.awaitEvent("rest", "Kept", "Secret rest-systemd-proxy")
	f.operator.Kill()
	f.startOperator()
	check("after a restart")

	modify(f, rest, isCanary)
	f.awaitNoProxy("rest", exampleMerged)
}

// ofCanaries selects isCanary alone.
func ofCanaries(p *v1alpha1.CorporateProxy) { p.Spec.ClusterSelector.MatchLabels["canary"] = "true" }
func isCanary(c *clusterv1.Cluster)         { c.Labels["canary"] = "true" }

// Who cleans up reports with --cascade=orphan, or restores a backup without them, leaves Secrets that machines were built from.
func TestSecretsThatSurviveWithoutAReportAreNotBlanked(t *testing.T) {
	tier.Full(t)
	f := newOwnFixture(t)
	f.exampleProxy()
	cluster := f.servedCluster("c1")
	values, systemd := f.secrets("c1")
	f.operator.Kill()
	f.loseReport("c1")
	modify(f, cluster, func(c *clusterv1.Cluster) { c.Labels = nil })
	f.startOperator()
	report := f.report("c1", "NotSelected")
	f.wantSame(values, systemd)
	if report.Annotations[v1alpha1.HadProxyAnnotation] != "true" {
		t.Errorf("noted %v", report.Annotations)
	}
}

// A crash after the first of two leaves a blank Secret of ours without a record.
func TestABlankSecretOfOursIsNoSignOfAProxy(t *testing.T) {
	tier.Full(t)
	f := newOwnFixture(t)
	proxy := f.exampleProxy(ofCanaries)
	cluster := f.cluster("c1")
	f.report("c1", "Applied")
	values, systemd := f.secrets("c1")
	f.operator.Kill()
	f.loseReport("c1")
	f.must(f.client.Delete(t.Context(), systemd))
	f.startOperator()
	report := f.report("c1", "Applied")
	if is, again := f.secrets("c1"); report.Annotations[v1alpha1.HadProxyAnnotation] != "false" || report.Status.Mode != "Unproxied" || is.UID != values.UID || again == nil {
		t.Errorf("mode %s, noted %v", report.Status.Mode, report.Annotations)
	}

	// What was created is ours by another operation than what is applied.
	modify(f, cluster, isCanary)
	f.awaitNoProxy("c1", exampleMerged)
	f.addEntry(proxy, "late.example")
	f.awaitReport("c1", "the change", func(r *v1alpha1.ProxyReport) bool { return r.Status.NoProxy.Entries == 11 })
	for _, record := range f.reapply("c1", "again").Status.Secrets {
		if record.Reverts != 0 || record.Rival != "" {
			t.Errorf("%+v", record)
		}
	}
}

// Neither clusterctl move nor a backup carries the status. The record of writes must survive all the same.
func TestThatAClusterHadAProxyIsNotedBeforeItsSecretsAreWrittenAndOnlyOnce(t *testing.T) {
	f := newFixture(t)
	f.exampleProxy()
	labelled := f.cluster("c1")
	cluster := f.cluster("c2", func(c *clusterv1.Cluster) { c.Labels = nil })
	noted := func(name, want string) *v1alpha1.ProxyReport {
		return f.awaitReport(name, "the note "+want, func(r *v1alpha1.ProxyReport) bool {
			return r.Annotations[v1alpha1.HadProxyAnnotation] == want && !meta.IsStatusConditionFalse(r.Status.Conditions, v1alpha1.ConditionReady)
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
		f.must(f.client.Patch(t.Context(), report, mergePatch(`{"metadata":{"annotations":{"`+v1alpha1.HadProxyAnnotation+`":`+patch+`}}}`)))
		report = noted("c1", "true")
		if writes := f.writesTo(mark, "c1"); !slices.Equal(writes, []string{"patch proxyreports"}) {
			t.Errorf("%s: %v", name, writes)
		}
		if len(report.ManagedFields) > 0 {
			t.Errorf("%s: the report has managed fields, which make each write of its status dearer", name)
		}
	}
}

// wantSame fails the test unless these Secrets are still there, with the data that they had.
func (f *fixture) wantSame(secrets ...*corev1.Secret) {
	f.Helper()
	for _, was := range secrets {
		if is := f.secret(was.Name); is == nil || is.UID != was.UID || !maps.EqualFunc(is.Data, was.Data, bytes.Equal) {
			f.Errorf("%s is another", was.Name)
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

// awaitEvent awaits an Event about a report.
func (f *fixture) awaitEvent(report, reason, text string) {
	f.Helper()
	controlplanetest.Await(f, "event "+reason+" about "+report, func(ctx context.Context) (bool, error) {
		events := &eventsv1.EventList{}
		err := f.client.List(ctx, events, client.InNamespace(f.namespace))
		return slices.ContainsFunc(events.Items, func(e eventsv1.Event) bool {
			return e.Regarding.Name == report && e.Reason == reason && strings.Contains(e.Note, text)
		}), err
	})
}

// theirs is a Secret of somebody else, with a proxy in it.
func (f *fixture) theirs(name, key string, annotations map[string]string) *corev1.Secret {
	f.Helper()
	secret := secretNamed(f.namespace, name)
	secret.Annotations, secret.StringData = annotations, map[string]string{key: "no_proxy: theirs.example\n", "third": "theirs"}
	f.must(f.client.Create(f.Context(), secret))
	return secret
}

// loseReport removes a report and leaves its Secrets, while the operator is down.
func (f *fixture) loseReport(name string) {
	f.Helper()
	report := &v1alpha1.ProxyReport{ObjectMeta: f.named(name)}
	f.must(f.client.Delete(f.Context(), report, client.PropagationPolicy(metav1.DeletePropagationOrphan)))
	controlplanetest.Await(f, "our finalizer to be gone", func(ctx context.Context) (bool, error) { // the collector has one of its own
		if err := f.client.Get(ctx, client.ObjectKeyFromObject(report), report); err != nil {
			return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
		}
		report.Finalizers = slices.DeleteFunc(report.Finalizers, func(f string) bool { return f == v1alpha1.ReportFinalizer })
		return false, f.client.Update(ctx, report)
	})
	controlplanetest.Await(f, "the report to go", func(ctx context.Context) (bool, error) {
		err := f.client.Get(ctx, client.ObjectKeyFromObject(report), report)
		return controlplanetest.Holds(apierrors.IsNotFound(err), "it is there, with the finalizers %q (%v)", report.Finalizers, err)
	})
	for _, secret := range []string{name + render.ValuesSuffix, name + render.SystemdSuffix} {
		controlplanetest.Await(f, "the collector to let go of "+secret, func(context.Context) (bool, error) {
			is := f.secret(secret)
			return controlplanetest.Holds(is != nil && len(is.OwnerReferences) == 1, "it is still owned by the report, or gone")
		})
	}
}
