package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/fairlead-io/fairlead/internal/core/proxyenv"
)

func TestTheListsOfVariablesAreRenewedEachAsWhatItIs(t *testing.T) {
	names, groups := proxyenv.Names, proxyenv.Groups
	defer func() { proxyenv.Names, proxyenv.Groups = names, groups }()
	proxyenv.Names = []string{"HTTP_PROXY", "http_proxy", "NO_PROXY", "X_PROXY"}
	proxyenv.Groups = []string{"HTTP_PROXY", "NO_PROXY", "ALL_PROXY", "X_PROXY"}
	path := filepath.Join(t.TempDir(), "policy.yaml")
	for was, want := range map[string]string{
		"['HTTP_PROXY', 'http_proxy', 'NO_PROXY'].map(":       "['HTTP_PROXY', 'http_proxy', 'NO_PROXY', 'X_PROXY'].map(",
		"['HTTP_PROXY', 'http_proxy', 'NO_PROXY', 'ca.crt'])": "['HTTP_PROXY', 'http_proxy', 'NO_PROXY', 'X_PROXY', 'ca.crt'])",
		"['HTTP_PROXY', 'http_proxy', 'Y_PROXY']":             "['HTTP_PROXY', 'http_proxy', 'X_PROXY']",
		"['HTTP_PROXY', 'NO_PROXY', 'ALL_PROXY']":             "['HTTP_PROXY', 'NO_PROXY', 'ALL_PROXY', 'X_PROXY']",
		"['HTTP_PROXY', 'ALL_PROXY']":                         "['HTTP_PROXY', 'ALL_PROXY', 'X_PROXY']",
		"['HTTP_PROXY', 'NO_PROXY'] + ['NO_PROXY']":           "['HTTP_PROXY', 'NO_PROXY'] + ['NO_PROXY']",
	} {
		if err := os.WriteFile(path, []byte(was), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := renewVariables(path); err != nil {
			t.Fatal(err)
		}
		if got, _ := os.ReadFile(path); string(got) != want {
			t.Errorf("%s becomes %s, want %s", was, got, want)
		}
	}
}
