package differential_test

import (
	"math/rand/v2"
	"testing"

	"github.com/fairlead-io/fairlead/e2e/vectors/differential"
)

// A comparison is worth little where all lists match, or none.
func TestGeneratedListsMatchOftenAndOftenDoNot(t *testing.T) {
	const cases = 5000
	random := rand.New(rand.NewPCG(1, 2))
	direct, distinct := 0, map[string]bool{}
	for range cases {
		question := differential.Generate(random)
		distinct[question.String()] = true
		row, err := question.Answered("go", "", "direct").Vector()
		if err != nil {
			t.Fatal(err)
		}
		got, _, err := row.Got()
		if err != nil {
			t.Fatalf("%s: %v", question, err)
		}
		if got == "direct" {
			direct++
		}
	}
	if direct < cases*3/10 || direct > cases*7/10 {
		t.Errorf("%d of %d go direct", direct, cases)
	}
	if len(distinct) < cases*9/10 {
		t.Errorf("only %d of %d are different", len(distinct), cases)
	}
}
