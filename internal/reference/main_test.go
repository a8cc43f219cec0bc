package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheReferenceIsWhatTheCodeSays(t *testing.T) {
	made := metrics()
	if got, err := os.ReadFile(filepath.Join("../..", page)); err != nil || string(got) != made {
		t.Errorf("%s is not up to date: run make generate (%v)", page, err)
	}
	for _, needle := range []string{"`fairlead_reports` | gauge | `mode`, `reason`", "`fairlead_copy_writes_total` | counter", "`fairlead_copies`", "`fairlead_relay_requests_total` | counter"} {
		if !strings.Contains(made, needle) {
			t.Errorf("%s does not say %s", page, needle)
		}
	}
}
