package replicator

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestANamespaceIsServedWhileThereIsACopyOrOneComesOnDemand(t *testing.T) {
	now, then := midday, midday.Add(-time.Hour)
	ours := newCopy(state{namespace: "shop", now: now})
	ours.CreationTimestamp = metav1.NewTime(then)
	theirs := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: ours.Name}, Type: corev1.SecretTypeOpaque}
	broken := source{problem: stateSourceMissing}
	for name, test := range map[string]struct {
		state   state
		lacking bool
		want    served
	}{
		"a copy":                          {state: state{copy: ours}, want: served{settled: true, since: then}},
		"a copy, and no source":           {state: state{copy: ours, source: broken}, want: served{settled: true, since: then}},
		"a copy that is not renewed":      {state: state{copy: ours}, want: served{settled: true, since: then}},
		"a copy that goes":                {state: state{copy: ours, excluded: true}, want: served{settled: true}},
		"a copy that a pod keeps":         {state: state{copy: ours, excluded: true, inUse: use{secret: true}}, want: served{settled: true, since: then}},
		"one that is being made":          {state: state{}, want: served{}},
		"one that is refused":             {state: state{}, lacking: true, want: served{settled: true}},
		"a bundle that is refused":        {state: state{copy: ours}, lacking: true, want: served{settled: true}},
		"none, as there is no source":     {state: state{source: broken}, want: served{settled: true}},
		"somebody else's":                 {state: state{copy: theirs}, want: served{settled: true}},
		"excluded":                        {state: state{excluded: true}, want: served{settled: true}},
		"on demand":                       {state: state{excluded: true, spared: true}, want: served{settled: true, since: now}},
		"on demand, and no source":        {state: state{excluded: true, spared: true, source: broken}, want: served{settled: true}},
		"on demand, and there is one yet": {state: state{excluded: true, spared: true, copy: ours}, want: served{settled: true, since: now}},
		"terminating":                     {state: state{terminating: true, copy: ours}, want: served{}},
	} {
		test.state.now = now
		if got := decideServed(test.state, decide(test.state), test.lacking); got != test.want {
			t.Errorf("%s: %+v, want %+v", name, got, test.want)
		}
	}
}
