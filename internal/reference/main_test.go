package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const root = "../.."

func TestTheReferenceIsWhatTheCodeSays(t *testing.T) {
	made, err := pages(root)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range made {
		got, err := os.ReadFile(filepath.Join(root, "docs/reference", name))
		if err != nil {
			t.Error(err)
		} else if string(got) != want {
			t.Errorf("docs/reference/%s is not up to date: run make generate", name)
		}
	}
	for name, needles := range map[string][]string{
		"cli.md":     {"### fairlead render", "`--values`", "## fairlead-operator follow", "## fairlead-operator preflight", "--reapply-interval", "## fairlead-relay", "-target"},
		"metrics.md": {"`fairlead_reports` | gauge | `mode`, `reason`", "`fairlead_copy_writes_total` | counter", "`fairlead_copies`", "`fairlead_relay_requests_total` | counter"},
		"api.md":     {"`spec.source.url.credentialsRef.name`", "`status.noProxy.any`", "`spec.delegation.noProxy` | string, `Forbidden` or `Narrow` or `Any`"},
	} {
		for _, needle := range needles {
			if !strings.Contains(made[name], needle) {
				t.Errorf("%s does not say %s", name, needle)
			}
		}
	}
}

func TestTheReferenceNamesEverySourceThatAReportLists(t *testing.T) {
	made, err := pages(root)
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile("(?m)^\\| `status.entries\\[\\].source` .*").FindString(made["api.md"])
	code, err := os.ReadFile(filepath.Join(root, "operator/noproxy/list.go"))
	if err != nil {
		t.Fatal(err)
	}
	layers := regexp.MustCompile(`(?m)^\tLayer\w+ +Layer = "(\w+)"`).FindAllStringSubmatch(string(code), -1)
	if len(layers) < 8 {
		t.Errorf("only %d layers", len(layers))
	}
	for _, m := range layers {
		if m[1] != "Installation" && !strings.Contains(row, m[1]) { // entries of the installation are only counted
			t.Errorf("the row lacks %s: %s", m[1], row)
		}
	}
}
