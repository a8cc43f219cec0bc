package replicator

import (
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/internal/core/selection"
)

func TestANamespaceIsServedOnceWhatPodsReferToIsThereUnlessItIsRefused(t *testing.T) {
	ours := newCopy(state{namespace: "shop", now: midday})
	ours.CreationTimestamp = metav1.NewTime(midday.Add(-time.Hour))
	theirs := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: ours.Name}, Type: corev1.SecretTypeOpaque}
	bundle := trustedCA{source: map[string]string{"ca.crt": "x"}, needed: true}
	foreign, filled := bundle, bundle
	foreign.copy, filled.copy = &corev1.ConfigMap{}, &corev1.ConfigMap{Data: bundle.source}
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, ours.Name, errors.New("exceeded quota"))
	const unserved, stays, since, before = selection.Unserved, "", "2027-01-31T12:01:00Z", "2027-01-31T11:01:00Z"
	for name, test := range map[string]struct {
		state               state
		is                  string
		secretErr, caFailed error
		want                string
	}{
		"a copy":                              {state: state{copy: ours}, want: before},
		"one that is being made":              {state: state{}, want: stays},
		"one that is refused":                 {state: state{}, secretErr: forbidden, want: unserved},
		"one that is still refused":           {state: state{}, is: unserved, secretErr: forbidden, want: stays},
		"one that fails, and is tried again":  {state: state{}, secretErr: errors.New("timeout"), want: stays},
		"a change that is refused":            {state: state{copy: ours}, is: before, secretErr: forbidden, want: stays},
		"somebody else's":                     {state: state{copy: theirs}, want: unserved},
		"somebody else's, of a new namespace": {state: state{copy: theirs}, is: "true", want: unserved},
		"handed over":                         {state: state{copy: ours}, is: unserved, want: since},
		"served for long":                     {state: state{copy: ours}, is: before, want: stays},
		"served from the beginning":           {state: state{copy: ours}, is: "true", want: stays},
		"none, as there is no source":         {state: state{source: source{problem: stateSourceMissing}}, want: stays},
		"excluded":                            {state: state{excluded: true, copy: theirs}, want: "2027-01-31T12:00:00Z"},
		"excluded, for long":                  {state: state{excluded: true}, is: before, want: stays},
		"excluded, and there is no source":    {state: state{excluded: true, source: source{problem: stateSourceMissing}}, want: stays},
		"terminating":                         {state: state{terminating: true}, secretErr: forbidden, want: stays},
		"a bundle that is refused":            {state: state{copy: ours, trustedCA: bundle}, caFailed: forbidden, want: unserved},
		"the same, while nobody needs it":     {state: state{copy: ours, trustedCA: trustedCA{source: bundle.source}}, is: unserved, want: stays},
		"the bundle is there at last":         {state: state{copy: ours, trustedCA: filled}, is: unserved, want: since},
		"somebody else's bundle is no bundle": {state: state{copy: ours, trustedCA: foreign}, want: unserved},
		"somebody else's bundle is one":       {state: state{copy: ours, trustedCA: filled}, is: before, want: stays},
	} {
		test.state.now = midday
		secret, ca := outcome{decide(test.state), test.secretErr}, outcome{decideTrustedCA(test.state), test.caFailed}
		got, change := decideServed(test.state, test.is, secret, ca)
		if change != (test.want != stays) || change && got != test.want {
			t.Errorf("%s: %q (%t), want %q", name, got, change, test.want)
		}
	}
}
