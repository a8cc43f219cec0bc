package docs_test

import (
	"regexp"
	"strings"
	"testing"
)

// setsAll has the pages whose upgrade of the policies says all that is meant, with the reason.
var setsAll = map[string]string{
	"docs/tutorial.md":         "it switches the engine of the demo's release, and says so",
	"docs/how-to/bootstrap.md": "the first install; the file has all that it says",
}

var (
	continued   = regexp.MustCompile(`\\\n\s*`)
	helmUpgrade = regexp.MustCompile(`helm upgrade [^\n|]*`)
	ofPolicies  = regexp.MustCompile(`\bfairlead-policies\b`)
	ofOperator  = regexp.MustCompile(`\bcharts/fairlead( |$)`)
)

// Whoever copies a command into a cluster that is set up must not lose the engine, or anything else that was set there.
func TestNoPagesUpgradeResetsWhatWasSet(t *testing.T) {
	found := 0
	for _, p := range readPages(t) {
		for _, s := range p.Steps {
			if s.Given {
				continue
			}
			for _, upgrade := range helmUpgrade.FindAllString(continued.ReplaceAllString(s.Text, " "), -1) {
				keeps := strings.Contains(upgrade, "--reset-then-reuse-values")
				switch {
				case ofPolicies.MatchString(upgrade):
					first := strings.Contains(upgrade, "--install") && setsAll[p.File] != ""
					if !keeps && !first || strings.Contains(upgrade, "--set engine") && p.File != "docs/tutorial.md" {
						t.Errorf("%s:%d: %s", p.File, s.Line, upgrade)
					}
				case ofOperator.MatchString(upgrade):
					if !keeps && !strings.Contains(upgrade, "--values") {
						t.Errorf("%s:%d: %s", p.File, s.Line, upgrade)
					}
				default:
					continue
				}
				found++
			}
		}
	}
	if found < 8 {
		t.Errorf("only %d upgrades found", found)
	}
}
