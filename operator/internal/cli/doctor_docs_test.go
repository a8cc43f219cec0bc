package cli_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/operator/internal/cli"
)

// The page shows commands with paths from the root of the repository, or with a file that anybody has.
func TestTheSamplesInTheDocsOfDoctorAreWhatItPrints(t *testing.T) {
	const configuration = `apiVersion: proxy.open-cluster-management.io/v1alpha1
kind: ManagedProxyConfiguration
metadata: {name: cluster-proxy}
spec: {proxyServer: {entrypoint: {type: Hostname, hostname: {value: hub.example}}}}
`
	t.Chdir("../../..")
	docs, err := os.ReadFile("docs/doctor.md")
	if err != nil {
		t.Fatal(err)
	}
	samples := strings.Split(string(docs), "\n$ fairlead ")[1:]
	if len(samples) != 2 {
		t.Fatalf("%d samples", len(samples))
	}
	for _, sample := range samples {
		command, want, _ := strings.Cut(sample, "\n")
		want, _, _ = strings.Cut(want, "```")
		args := strings.Fields(strings.Replace(command, "managedproxyconfiguration.yaml", "-", 1))
		var out, warnings bytes.Buffer
		if status := cli.Run(args, strings.NewReader(configuration), &out, &warnings); status > 1 || warnings.Len() > 0 || out.String() != want {
			t.Errorf("%s: status %d, %s%s, not %s", command, status, &out, &warnings, want)
		}
	}
}
