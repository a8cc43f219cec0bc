package yamldoc_test

import (
	"testing"

	"github.com/fairlead-io/fairlead/internal/core/yamldoc"
)

func TestSeveral(t *testing.T) {
	for text, want := range map[string]bool{
		"":                               false,
		"a: 1\n":                         false,
		"---\na: 1\n":                    false,
		"# why\n---\na: 1\n---\n# end\n": false,
		"a: 1\n---\nb: 2\n":              true,
		"a: 1\n--- \nb: 2\n":             true,
		"a: 1\r\n---\r\nb: 2\r\n":        true,
		"a: 1\n--- {b: 2}\n":             true,
		"a: 1\n--- # again\nb: 2\n":      true,
		"a: |\n  ---\n  text\nb: 2\n":    false,
		"a: 1\n---b: 2\n":                false,
	} {
		if got := yamldoc.Several([]byte(text)); got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
}
