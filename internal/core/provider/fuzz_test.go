package provider_test

import (
	"encoding/json"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/core/provider"
)

// FuzzParseAndExtract feeds arbitrary rows and objects. Nothing panics; what Parse accepts and Extract
// makes of it is the same twice, and every entry is one token of a NO_PROXY list.
func FuzzParseAndExtract(f *testing.F) {
	rows, err := os.ReadFile("providers.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, object := range realisticObjects(f) {
		text, err := json.Marshal(object)
		if err != nil {
			f.Fatal(err)
		}
		f.Add([]byte(goodRow), text)
		f.Add(rows, text)
	}
	f.Add([]byte("rows:\n- {group: g.h, kind: K, facts: [{name: a, paths: ['spec.a{}[]'], type: domain, entry: '{value}'}]}"), []byte(`{"spec":{"a":{"b":["x,y"]}}}`))
	f.Fuzz(func(t *testing.T, rowText, objectText []byte) {
		var object map[string]any
		if json.Unmarshal(objectText, &object) != nil {
			object = nil
		}
		rows, err := provider.Parse("f", rowText)
		if err != nil {
			rows = nil
		}
		for _, row := range slices.Concat(rows, builtin(t).Rows()) {
			facts := provider.Extract(row, object)
			if diff := cmp.Diff(facts, provider.Extract(row, object)); diff != "" {
				t.Fatalf("not the same twice:\n%s", diff)
			}
			checkEntries(t, facts)
		}
	})
}

func checkEntries(t *testing.T, facts provider.Facts) {
	t.Helper()
	entries := slices.Concat(facts.Metadata, facts.Domains)
	for _, value := range facts.Values {
		entries = append(entries, value.Entry)
	}
	for _, entry := range entries {
		if entry == "" || strings.ContainsAny(entry, ", *%\t\r\n\"'[]") {
			t.Fatalf("not one token: %q", entry)
		}
		if strings.Contains(entry, "/") && netip.MustParsePrefix(entry).Bits() == 0 {
			t.Fatalf("covers everything: %q", entry)
		}
	}
}
