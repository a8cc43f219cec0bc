package replicator

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/internal/core/selection"
)

func TestANamespaceIsUnservedWhileWhatPodsReferToIsRefused(t *testing.T) {
	ours := newCopy(state{namespace: "shop", now: midday})
	theirs := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: ours.Name}, Type: corev1.SecretTypeOpaque}
	bundle := trustedCA{source: map[string]string{"ca.crt": "x"}, needed: true}
	foreign, filled := bundle, bundle
	foreign.copy, filled.copy = &corev1.ConfigMap{}, &corev1.ConfigMap{Data: bundle.source}
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, ours.Name, errors.New("exceeded quota"))
	const unserved, stays, since = selection.Unserved, "", "2027-01-31T12:00:00Z"
	for name, test := range map[string]struct {
		state               state
		is                  string
		secretErr, caFailed error
		want                string
	}{
		"a copy":                              {state: state{copy: ours}, want: stays},
		"one that is being made":              {state: state{}, want: stays},
		"one that is refused":                 {state: state{}, secretErr: forbidden, want: unserved},
		"one that is still refused":           {state: state{}, is: unserved, secretErr: forbidden, want: stays},
		"one that fails, and is tried again":  {state: state{}, secretErr: errors.New("timeout"), want: stays},
		"a change that is refused":            {state: state{copy: ours}, secretErr: forbidden, want: stays},
		"somebody else's":                     {state: state{copy: theirs}, want: unserved},
		"handed over":                         {state: state{copy: ours}, is: unserved, want: since},
		"served again for long":               {state: state{copy: ours}, is: since, want: stays},
		"none, as there is no source":         {state: state{source: source{problem: stateSourceMissing}}, want: stays},
		"excluded":                            {state: state{excluded: true, copy: theirs}, want: stays},
		"terminating":                         {state: state{terminating: true}, secretErr: forbidden, want: stays},
		"a bundle that is refused":            {state: state{copy: ours, trustedCA: bundle}, caFailed: forbidden, want: unserved},
		"the same, while nobody needs it":     {state: state{copy: ours, trustedCA: trustedCA{source: bundle.source}}, is: unserved, want: stays},
		"the bundle is there at last":         {state: state{copy: ours, trustedCA: filled}, is: unserved, want: since},
		"somebody else's bundle is no bundle": {state: state{copy: ours, trustedCA: foreign}, want: unserved},
		"somebody else's bundle is one":       {state: state{copy: ours, trustedCA: filled}, want: stays},
	} {
		test.state.now = midday
		secret, ca := outcome{decide(test.state), test.secretErr}, outcome{decideTrustedCA(test.state), test.caFailed}
		got, change := decideServed(test.state, test.is, secret, ca)
		if change != (test.want != stays) || change && got != test.want {
			t.Errorf("%s: %q (%t), want %q", name, got, change, test.want)
		}
	}
}
