package cli_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/internal/cli"
)

const providersPage = "../../docs/how-to/providers.md"

// providerRow has a file of an example, and what the page says that NO_PROXY gets from its objects.
var providerRow = regexp.MustCompile(`(?m)^(\| \[[^]]+\]\(\.\./\.\./examples/([^)]+)\) \|[^|]*\|[^|]*\|)([^|]*)\|`)

// TestThePageOfProvidersSaysWhatNoProxyGetsFromEachExample compares the list of a Cluster with the list of the same
// Cluster without its provider. UPDATE=1 writes the page anew.
func TestThePageOfProvidersSaysWhatNoProxyGetsFromEachExample(t *testing.T) {
	page, err := os.ReadFile(providersPage)
	if err != nil {
		t.Fatal(err)
	}
	rows := providerRow.FindAllStringSubmatch(string(page), -1)
	if len(rows) < 10 {
		t.Fatalf("the page has %d rows", len(rows))
	}
	current := string(page)
	for _, row := range rows {
		content, err := os.ReadFile(filepath.Join("../../examples", row[2]))
		if err != nil {
			t.Fatal(err)
		}
		without := renderedNoProxy(t, strings.SplitN(string(content), "\n---\n", 2)[0], "UnknownCluster")
		var added []string
		for _, entry := range renderedNoProxy(t, string(content), "") {
			if !slices.Contains(without, entry) {
				added = append(added, "`"+entry+"`")
			}
		}
		want := "nothing"
		if len(added) > 0 {
			want = strings.Join(added, " ")
		}
		if got := strings.TrimSpace(row[3]); got != want {
			if os.Getenv("UPDATE") == "" {
				t.Errorf("%s: the page says %s, it is %s", row[2], got, want)
			}
			current = strings.Replace(current, row[0], row[1]+" "+want+" |", 1)
		}
	}
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(providersPage, []byte(current), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// renderedNoProxy plays the provider, which says the endpoint, and has the references point to another kind if one is
// given.
func renderedNoProxy(t *testing.T, documents, kind string) []string {
	t.Helper()
	first, rest, _ := strings.Cut(documents, "\n---\n")
	var cluster map[string]any
	if err := yaml.Unmarshal([]byte(first), &cluster); err != nil {
		t.Fatal(err)
	}
	spec := cluster["spec"].(map[string]any)
	spec["controlPlaneEndpoint"] = map[string]any{"host": "api.corp.example", "port": 6443}
	if kind != "" {
		delete(spec, "controlPlaneRef")
		spec["infrastructureRef"].(map[string]any)["kind"] = kind
	}
	changed, err := yaml.Marshal(cluster)
	if err != nil {
		t.Fatal(err)
	}
	var out, problems bytes.Buffer
	status := cli.Run([]string{"render", "--values", "../../examples/secret-values.yaml", "--cluster", "-", "-o", "noproxy"},
		strings.NewReader(string(changed)+"\n---\n"+rest), &out, &problems)
	if status != 0 || strings.Contains(problems.String(), "not known yet") {
		t.Fatalf("status %d: %s", status, problems.String())
	}
	return strings.Split(strings.TrimSpace(out.String()), ",")
}

// secretFile is a file of an example whose content comes from the Secret, for root alone since the password is in it.
var secretFile = regexp.MustCompile(`permissions: "0600".*\n +encoding: base64.*\n +contentFrom:\n +secret: \{name: mycluster-systemd-proxy, key: (\S+)\.base64\}`)

// A machine waits for ever for a key that the Secret does not have.
func TestEveryKeyThatAProvidersExampleNamesIsInTheSecret(t *testing.T) {
	files, err := filepath.Glob("../../examples/providers/*.yaml")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	var out, problems bytes.Buffer
	if status := cli.Run([]string{
		"render", "--values", "../../examples/secret-values.yaml", "--cluster", "../../examples/cluster.yaml",
		"--file", "EnvironmentFile", "--file", "K3s", "-o", "yaml",
	}, strings.NewReader(""), &out, &problems); status != 0 {
		t.Fatalf("status %d: %s", status, problems.String())
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		found := secretFile.FindAllStringSubmatch(string(content), -1)
		for _, match := range found {
			if !regexp.MustCompile(`(?m)^ +` + match[1] + `: `).MatchString(out.String()) {
				t.Errorf("%s: the Secret has no %s", file, match[1])
			}
		}
		if named := strings.Count(string(content), "contentFrom:"); named != len(found) {
			t.Errorf("%s: of %d files from the Secret, %d are in base64 and for root alone", file, named, len(found))
		}
	}
}
