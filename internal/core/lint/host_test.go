package lint_test

import (
	"slices"
	"testing"

	"github.com/fairlead-io/fairlead/internal/core/lint"
)

// A Service's name is no domain: there is nothing below it, for which a leading dot would do.
func TestAnEntryWithoutADotIsAHostUnlessDomainsEndSo(t *testing.T) {
	for list, want := range map[string]bool{
		"argocd-redis,argocd-repo-server": false, "localhost": false,
		"svc": true, "internal": true, "example.com": true,
	} {
		found := lint.Portability(readList(list))
		unmatched := slices.ContainsFunc(found, func(f lint.Finding) bool { return f.Code == lint.Unmatched })
		if unmatched != want || !want && found != nil {
			t.Errorf("%s: %q", list, summaries(found))
		}
	}
}
