package replicator_test

import (
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/e2e/policies"
	"github.com/fairlead-io/fairlead/e2e/replicator"
	"github.com/fairlead-io/fairlead/e2e/rights"
	"github.com/fairlead-io/fairlead/e2e/rights/rightstest"
	"github.com/fairlead-io/fairlead/e2e/tier"
)

// everywhere has the rights of the replicator's token by RBAC in each namespace.
var everywhere = rights.Table{
	"secrets":                        "create",
	"secrets fairlead-proxy":         "list watch update delete",
	"configmaps":                     "create",
	"configmaps fairlead-trusted-ca": "list watch update delete",
	"namespaces":                     "list watch patch",
	"pods":                           "list watch",
	"events.events.k8s.io":           "create patch",
}

// atHome has its further rights in its own namespace.
var atHome = rights.Table{
	"events":                     "create",
	"leases.coordination.k8s.io": "create",
	"leases.coordination.k8s.io fairlead-replicator": "get update",
}

func TestAStolenTokenMayDoExactlyWhatIsListed(t *testing.T) {
	f := newFixture(t)
	names := rights.Union(everywhere, atHome)
	rightstest.May(t, f.cp, f.replicator.Config, names, map[string]rights.Table{f.namespace(): everywhere, policies.Namespace: names})
}

// Whatever the role lacked would be refused, and whatever it has too much would not be used.
func TestTheReplicatorUsesEveryRightItHasAndMissesNone(t *testing.T) {
	tier.Full(t)
	t.Parallel()
	f := newOwnFixture(t)
	namespace := f.namespace()
	f.awaitCopy(namespace)
	f.change(namespace, func(s *corev1.Secret) { s.Data["HTTP_PROXY"] = []byte("http://elsewhere:1") })
	f.awaitCopy(namespace)
	taken := f.namespace(selection, "exclude")
	f.must(f.client.Create(t.Context(), secretNamed(taken, policies.Secret)))
	f.label(taken, selection, "include")
	f.awaitServed(taken, unserved)
	// It says twice that there is no source, which is one Event, and then a series of it.
	source := f.source()
	for range 2 {
		f.must(f.client.Delete(t.Context(), source))
		f.awaitCopies("SourceMissing", 1)
		source.ObjectMeta = metav1.ObjectMeta{Namespace: source.Namespace, Name: source.Name, Labels: source.Labels}
		f.must(f.client.Create(t.Context(), source))
		f.awaitCopies("Source", 1)
	}
	f.mounting(namespace)
	f.setBundle("a bundle")
	f.awaitBundle(namespace, "a bundle")
	f.setBundle("another")
	f.awaitBundle(namespace, "another")
	f.must(f.client.DeleteAllOf(t.Context(), &corev1.Pod{}, client.InNamespace(namespace), client.GracePeriodSeconds(0)))
	f.label(namespace, selection, "exclude") // it asks for pods, and deletes the copies

	rightstest.UsesAll(t, f.cp, replicator.User, rights.Union(everywhere, atHome))
}

func TestEvenAnAdministratorsRightsLetAStolenTokenWriteOnlyWhatIsListed(t *testing.T) {
	tier.Full(t)
	t.Parallel()
	f := newOwnFixture(t)
	f.must(f.replicator.Stop())
	thief := rightstest.Thief{Config: f.replicator.Config, Namespace: policies.Namespace, Name: replicator.Name}
	unchanged := rights.Table{"namespaces": "patch update"} // of what may change, exclusions_test.go has each
	rightstest.AsAdministrator(t, f.cp.Admin(), thief, f.namespace(), rights.Union(rights.Exempt, unchanged))
	t.Run("a question may be about a namespace that does not exist", func(t *testing.T) {
		f.must(f.client.Create(t.Context(), &authorizationv1.LocalSubjectAccessReview{
			ObjectMeta: metav1.ObjectMeta{Namespace: "nowhere"},
			Spec: authorizationv1.SubjectAccessReviewSpec{
				User: "somebody", ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: "nowhere", Verb: "get", Resource: "pods"},
			},
		}))
	})
}
