package replicator_test

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/e2e/helm"
	"github.com/fairlead-io/fairlead/e2e/policies"
	"github.com/fairlead-io/fairlead/e2e/replicator"
	"github.com/fairlead-io/fairlead/e2e/tier"
)

func TestABadSourceChangesNoCopyAndIsReportedWithoutAPassword(t *testing.T) {
	tier.Full(t)
	t.Parallel()
	f := newOwnFixture(t, "--log-level=trace")
	namespace, excluded := f.namespace(), f.namespace()
	good := f.awaitCopy(namespace)
	f.awaitCopy(excluded)
	for name, bad := range map[string]struct {
		reason string
		spoil  func()
	}{
		"no key":             {"SourceInvalid", func() { f.change(policies.Namespace, func(s *corev1.Secret) { s.Data = nil }) }},
		"a key less":         {"SourceInvalid", func() { f.change(policies.Namespace, func(s *corev1.Secret) { delete(s.Data, "https_proxy") }) }},
		"no NO_PROXY":        {"SourceInvalid", func() { f.change(policies.Namespace, func(s *corev1.Secret) { s.Data["NO_PROXY"] = nil }) }},
		"no no_proxy":        {"SourceInvalid", func() { f.change(policies.Namespace, func(s *corev1.Secret) { s.Data["no_proxy"] = []byte{} }) }},
		"the source is gone": {"SourceMissing", func() { f.must(f.client.Delete(t.Context(), f.source())) }},
	} {
		t.Run(name, func(t *testing.T) {
			f.awaitCopies("Source", 1)
			mark := f.mark()
			bad.spoil()
			f.awaitCopies(bad.reason, 3) // the own namespace, default, and this
			looks := f.looks()
			f.label(excluded, selection, "exclude")
			f.label(namespace, "touched", strings.ReplaceAll(name, " ", "-"))
			f.awaitIdle(looks + 2)
			f.noSecretWrites(mark)
			if after := f.secret(namespace); after == nil || after.ResourceVersion != good.ResourceVersion {
				t.Error("the copy was changed")
			}
			f.must(f.replicator.Ready(t.Context()))
			f.awaitEvent(policies.Namespace, bad.reason, policies.Secret)
			f.label(excluded, selection, "include")
			f.install("pl4in")
		})
	}
	f.awaitCopies("Source", 1)

	f.install("another-pl4in")
	f.awaitCopy(namespace)
	f.awaitCopy("default")

	log, err := f.replicator.Log()
	f.must(err)
	metrics, err := f.replicator.Metrics(t.Context())
	f.must(err)
	events := &eventsv1.EventList{}
	f.must(f.client.List(t.Context(), events))
	audit, err := f.cp.AuditEvents(0, func(e auditv1.Event) bool { return e.User.Username == replicator.User })
	f.must(err)
	for where, text := range map[string]string{"log": log, "metrics": metrics, "events": asText(f, events), "its requests": asText(f, audit)} {
		for _, needle := range []string{"pl4in", base64.StdEncoding.EncodeToString([]byte("http://user:pl4in"))[:20]} {
			if strings.Contains(text, needle) {
				t.Errorf("the %s: a password", where)
			}
		}
		if len(text) < 100 {
			t.Errorf("the %s: nothing to search", where)
		}
	}
}

func asText(f *fixture, object any) string {
	f.Helper()
	text, err := json.Marshal(object)
	f.must(err)
	return string(text)
}

func TestHelmUninstallLeavesTheCopies(t *testing.T) {
	tier.Full(t)
	t.Parallel()
	f := newOwnFixture(t)
	namespace := f.namespace()
	f.awaitCopy(namespace)
	f.helm("install", policies.Release, policies.Chart(), "--set=engine=Native,proxy.http=http://p:1,proxy.noProxy=localhost", "--take-ownership", "--force-conflicts")
	before := f.awaitCopy(namespace)
	mark := f.mark()
	f.helm("uninstall", policies.Release)
	f.must(client.IgnoreNotFound(f.client.Delete(t.Context(), secretNamed(policies.Namespace, policies.Secret))))
	// Its pods end with the release, or a little later. That a missing source changes nothing is shown above.
	f.must(f.replicator.Stop())
	f.noSecretWrites(mark)
	if after := f.secret(namespace); after == nil || after.ResourceVersion != before.ResourceVersion {
		t.Error("the copy went, or was changed")
	}
}

func (f *fixture) helm(args ...string) {
	f.Helper()
	_, err := helm.Run(f.Context(), append(args, "--kubeconfig", f.cp.AdminKubeconfig(), "--namespace", policies.Namespace)...)
	f.must(err)
}
