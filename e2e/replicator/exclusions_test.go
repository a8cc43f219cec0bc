package replicator_test

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/tier"
)

const until = "fairlead.io/exclude-until"

// newEndingFixture starts a replicator that ends exclusions.
func newEndingFixture(t *testing.T) *fixture {
	t.Helper()
	f := on(t, controlplanetest.Start(t, controlplane.Options{}))
	f.install("pl4in", map[string]any{"exclude": map[string]any{"until": map[string]any{"enabled": true}}})
	f.start()
	return f
}

// excluded makes a namespace that is, until a time if that is not empty.
func (f *fixture) excluded(time string) string {
	f.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-", Labels: map[string]string{selection: "exclude", "team": "a"}}}
	if time != "" {
		namespace.Annotations = map[string]string{until: time}
	}
	f.must(f.client.Create(f.Context(), namespace))
	return namespace.Name
}

func TestTheExclusionOfANamespaceEndsAtItsTime(t *testing.T) {
	tier.Full(t)
	t.Parallel()
	f := newEndingFixture(t)
	end := time.Now().Add(5 * time.Second).Truncate(time.Second)
	past, soon := f.excluded("2020-01-31T12:00:00+01:00"), f.excluded(end.UTC().Format(time.RFC3339))
	for _, name := range []string{past, soon} {
		controlplanetest.Await(t, "the end of an exclusion", func(context.Context) (bool, error) {
			labels := f.readNamespace(name).Labels
			_, found := labels[selection]
			return controlplanetest.Holds(!found, "%s has the labels %v", name, labels)
		})
		if name == soon && time.Now().Before(end) {
			t.Errorf("it ended before %s", end)
		}
		if namespace := f.readNamespace(name); namespace.Labels["team"] != "a" || namespace.Annotations[until] == "" {
			t.Errorf("something else was lost: %v", namespace.ObjectMeta)
		}
		f.awaitCopy(name)
		f.awaitEvent("", "ExclusionEnded", name)
	}
	f.nothingForbidden()
}

// Somebody has stolen the replicator's token.
func TestAStolenTokenChangesNothingOfANamespaceButThatItIsServed(t *testing.T) {
	f := newFixture(t)
	thief, namespace := f.clientFor(f.replicator.Config), f.namespace("team", "a", selection, "exclude")
	for _, metadata := range []string{
		`{"labels":{"team":"b"}}`, `{"labels":{"team":null}}`, `{"labels":{"pod-security.kubernetes.io/enforce":"privileged"}}`,
		`{"labels":{"` + selection + `":null}}`, `{"annotations":{"a":"b"}}`, `{"finalizers":["example.com/x"]}`,
		`{"annotations":{"fairlead.io/served":"2027-01-31T12:00:00Z","a":"b"}}`,
		`{"ownerReferences":[{"apiVersion":"v1","kind":"Namespace","name":"default","uid":"1"}]}`,
	} {
		if err := f.patch(thief, namespace, metadata, client.DryRunAll); !apierrors.IsForbidden(err) {
			t.Errorf("%s: it was not forbidden: %v", metadata, err)
		}
	}
	f.must(f.patch(thief, namespace, `{"annotations":{"fairlead.io/served":"2027-01-31T12:00:00Z"}}`, client.DryRunAll))
}

// Somebody has stolen the replicator's token.
func TestAStolenTokenEndsExclusionsThatEndAndChangesNothingElseOfANamespace(t *testing.T) {
	tier.Full(t)
	t.Parallel()
	f := newEndingFixture(t)
	thief := f.clientFor(f.replicator.Config)
	const ends = `"` + selection + `":null`
	later := f.excluded("2999-01-31T12:00:00Z")
	for name, test := range map[string]struct{ namespace, metadata string }{
		"one that does not end":     {f.excluded(""), `{"labels":{` + ends + `}}`},
		"one that is not excluded":  {f.namespace("team", "a"), `{"labels":{"team":null}}`},
		"exclude one":               {f.namespace(), `{"labels":{"` + selection + `":"exclude"}}`},
		"say include":               {later, `{"labels":{"` + selection + `":"include"}}`},
		"remove another label, too": {later, `{"labels":{` + ends + `,"team":null}}`},
		"change another label, too": {later, `{"labels":{` + ends + `,"team":"b"}}`},
		"add a label, too":          {later, `{"labels":{` + ends + `,"pod-security.kubernetes.io/enforce":"privileged"}}`},
		"change the time, too":      {later, `{"labels":{` + ends + `},"annotations":{"` + until + `":null}}`},
		"add an annotation, too":    {later, `{"labels":{` + ends + `},"annotations":{"a":"b"}}`},
		"add a finalizer, too":      {later, `{"labels":{` + ends + `},"finalizers":["example.com/x"]}`},
		"change the time of an end": {later, `{"annotations":{"` + until + `":"2998-01-31T12:00:00Z"}}`},
	} {
		if err := f.patch(thief, test.namespace, test.metadata, client.DryRunAll); !apierrors.IsForbidden(err) {
			t.Errorf("%s: it was not forbidden: %v", name, err)
		}
	}
	f.must(f.patch(thief, later, `{"labels":{`+ends+`}}`, client.DryRunAll))
}
