package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
)

func TestMain(m *testing.M) { controlplanetest.Main(m) }

// How long it takes is for make bench to say. Here a pod is created under each policy, one after the other on one
// control plane, and counted is what Kyverno was asked.
func TestAPodCostsOneAdmissionReviewWithKyvernoAndNoneWithout(t *testing.T) {
	results, err := measure(t.Context(), options{Rounds: 1, Pods: 2, Progress: os.Stderr})
	controlplanetest.Require(t, err)
	if len(results) != 6 {
		t.Errorf("there are %d policies", len(results))
	}
	for _, r := range results {
		want := 2.0
		if r.policy == baseline || strings.HasPrefix(r.policy, "native") {
			want = 0
		}
		if r.reviews.count != want || len(r.took) != 2 {
			t.Errorf("%s: %v AdmissionReviews for %d pods", r.policy, r.reviews.count, len(r.took))
		}
	}
}

func TestPercentiles(t *testing.T) {
	var durations []time.Duration
	for n := 200; n > 0; n-- {
		durations = append(durations, time.Duration(n))
	}
	for p, want := range map[int]time.Duration{50: 100, 99: 198, 100: 200} {
		if got := percentile(durations, p); got != want {
			t.Errorf("p%d is %d, want %d", p, got, want)
		}
	}
	if got := percentile(durations[:1], 50); got != 200 {
		t.Errorf("of one it is %d", got)
	}
}
