package replicator_test

import (
	"bytes"
	"context"
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/policies"
	"github.com/fairlead-io/fairlead/e2e/replicator"
	"github.com/fairlead-io/fairlead/e2e/rights"
)

const fleetSize = 100 // namespaces with a copy, the default one included

// fleet returns the namespaces that it makes.
func (f *fixture) fleet() (namespaces []string) {
	f.Helper()
	for range fleetSize - 1 {
		namespaces = append(namespaces, f.namespace())
	}
	f.awaitFleet()
	return namespaces
}

// awaitFleet waits until all copies equal the source, by one list at a time.
func (f *fixture) awaitFleet() {
	f.Helper()
	want := f.source().Data
	byName := client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector("metadata.name", policies.Secret)}
	controlplanetest.Await(f, "all copies", func(ctx context.Context) (bool, error) {
		secrets := &corev1.SecretList{}
		if err := f.client.List(ctx, secrets, byName); err != nil {
			return false, err
		}
		right := -1 // the source
		for _, secret := range secrets.Items {
			if maps.EqualFunc(secret.Data, want, bytes.Equal) {
				right++
			}
		}
		return controlplanetest.Holds(right == fleetSize, "%d are right", right)
	})
}

func (f *fixture) exactly(writes []auditv1.Event, count int) {
	f.Helper()
	namespaces := map[string]bool{}
	for _, event := range writes {
		namespaces[event.ObjectRef.Namespace] = true
		if event.Verb != "update" || event.ResponseStatus.Code != 200 {
			f.Errorf("%s %s: %d", event.Verb, event.RequestURI, event.ResponseStatus.Code)
		}
	}
	if len(writes) != count || len(namespaces) != count {
		f.Errorf("%d requests in %d namespaces, not %d", len(writes), len(namespaces), count)
	}
}

func TestANewPasswordReaches100NamespacesBy100RequestsAndNothingCausesNone(t *testing.T) {
	f := newOwnFixture(t)
	namespaces := f.fleet()
	f.awaitIdle(0)

	mark := f.mark()
	looks := f.looks()
	f.label(policies.Namespace, "touched", "true")
	f.change(policies.Namespace, func(s *corev1.Secret) { s.Annotations = map[string]string{"touched": "true"} })
	f.awaitIdle(looks + fleetSize)
	f.must(f.replicator.Stop()) // it gives its lease back
	f.start()
	f.awaitIdle(fleetSize)
	f.noSecretWrites(mark)

	f.replicator.Kill()
	f.must(f.client.Delete(t.Context(), f.secret(namespaces[0])))
	f.change(namespaces[1], func(s *corev1.Secret) { delete(s.Data, "NO_PROXY") })
	mark = f.mark()
	f.start()
	f.awaitFleet()
	f.awaitIdle(fleetSize)
	if writes := f.secretWrites(mark); len(writes) != 2 {
		t.Errorf("%d requests for the two copies that went wrong while it was down", len(writes))
	}

	mark = f.mark()
	f.change(policies.Namespace, func(s *corev1.Secret) {
		for _, key := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"} {
			s.Data[key] = []byte("http://user:rotated@proxy.example:3128")
		}
	})
	f.awaitFleet()
	f.awaitIdle(2 * fleetSize)
	f.exactly(f.secretWrites(mark), fleetSize)
	f.nothingForbidden()
}

// nothingForbidden: it asks for nothing that its role lacks, but for the tries at its cage.
func (f *fixture) nothingForbidden() {
	f.Helper()
	events, err := f.cp.AuditEvents(0, controlplane.ByUser(replicator.User), rights.IsReal)
	f.must(err)
	if missed := rights.Missed(events); len(missed) > 0 {
		f.Errorf("it was not allowed to: %v", missed)
	}
}
