package cli_test

import (
	"bytes"
	"encoding/base64"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/cli"
)

const canary = "c4nary"

// printed returns what render prints, with the data of Secrets and of configs for machines decoded.
func printed(t *testing.T, args ...string) string {
	t.Helper()
	values := filepath.Join(t.TempDir(), "values.yaml")
	url := "http://me:" + canary + "@192.0.2.1:3128" // a NetworkPolicy takes no name
	if err := os.WriteFile(values, []byte("proxy: {http: '"+url+"', https: '"+url+"', noProxy: [a.example]}"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := cli.Command()
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&bytes.Buffer{})
	cmd.SetArgs(append([]string{"render", "--values", values, "--cluster", filepath.Join("testdata", "common", "cluster.yaml")}, args...))
	if err := cmd.Execute(); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	for _, encoded := range regexp.MustCompile(`[A-Za-z0-9+/]{8,}=*`).FindAllString(text, -1) {
		if decoded, err := base64.StdEncoding.DecodeString(encoded); err == nil {
			text += string(decoded)
		}
	}
	return text
}

// The help, the page about the command line and the threat model name the outputs without the password. They name the same
// ones, and no others have none.
func TestTheOutputsWithoutThePasswordAreTheOnesThatAreNamed(t *testing.T) {
	all := commands()["fairlead render"]
	flag := all.Flags().Lookup("output").Usage
	var without []string
	for _, output := range strings.Split(strings.TrimPrefix(flag, "one of "), ", ") {
		args := []string{"-o", output}
		if output == "argocd-repo-creds" {
			args = append(args, "--repository", "https://github.com/")
		}
		if !strings.Contains(printed(t, args...), canary) {
			without = append(without, output)
		}
	}
	if !strings.Contains(printed(t, "-o", "addondeploymentconfig", "--with-credentials"), canary) {
		t.Error("--with-credentials writes none")
	}
	slices.Sort(without)
	model, err := os.ReadFile("../../docs/explanation/threat-model.md")
	if err != nil {
		t.Fatal(err)
	}
	for where, text := range map[string]string{"the help": all.Long, "docs/explanation/threat-model.md": string(model)} {
		_, list, ok := strings.Cut(strings.Join(strings.Fields(text), " "), "in every output but ")
		list, _, ended := strings.Cut(list, ";")
		named := strings.FieldsFunc(list, func(r rune) bool { return strings.ContainsRune(", `", r) })
		slices.Sort(named)
		if !ok || !ended || !slices.Equal(named, without) {
			t.Errorf("%s names %q; those without it are %q", where, named, without)
		}
	}
}
