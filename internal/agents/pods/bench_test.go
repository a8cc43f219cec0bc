package pods_test

import (
	"math/rand/v2"
	"testing"

	"github.com/fairlead-io/fairlead/internal/agents/pods"
)

// BenchmarkJudge judges pods of all kinds: a fleet has 100,000.
func BenchmarkJudge(b *testing.B) {
	policy, err := pods.ReadPolicy(object(b, nil))
	if err != nil {
		b.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	c := pods.Cluster{Policy: policy}
	for b.Loop() {
		c.Judge(randomPod(r))
	}
}
