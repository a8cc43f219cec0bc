package cli_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/cli"
)

// What people report of their fleets, and the right answer. The inputs are in testdata/field.
func TestWhatPeopleReportIsAnsweredRight(t *testing.T) {
	const eks = "172.20.0.0/16,4f0e2d.yl4.eu-central-1.eks.amazonaws.com,.cluster.local,localhost,127.0.0.1,.localhost,.svc"
	for name, test := range map[string]struct {
		command   string
		status    int
		says, not []string
	}{
		"a list with the network that the provider tells, which is also the pods'": {
			command: "lint --cluster vpc.yaml --fail-on Warning --no-proxy 10.61.0.0/16," + eks,
			says:    []string{"0 errors, 0 warnings"}, not: []string{"MissingNodes"},
		},
		"a list without it": {
			command: "lint --cluster vpc.yaml --no-proxy 10.62.0.0/16," + eks, status: 1,
			says: []string{"Warning  MissingNodes", "the network of the nodes 10.61.0.0/16 (AWSManagedControlPlane", "fact vpcCIDR)", "mend: add 10.61.0.0/16"},
		},
		"an address that ends as a port": {
			command: "lint --no-proxy fd00::1:443",
			says:    []string{"Info     PortLike  fd00::1:443", "not port 443 of fd00::1", "mend: list fd00::1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			arguments := strings.Fields(test.command)
			for i, argument := range arguments {
				if strings.HasSuffix(argument, ".yaml") {
					arguments[i] = "testdata/field/" + argument
				}
			}
			var out, problems bytes.Buffer
			status := cli.Run(arguments, strings.NewReader(""), &out, &problems)
			all := strings.Join(strings.Fields(out.String()+problems.String()), " ")
			if status != test.status {
				t.Errorf("status %d", status)
			}
			for _, text := range test.says {
				if !strings.Contains(all, strings.Join(strings.Fields(text), " ")) {
					t.Errorf("does not say %q", text)
				}
			}
			for _, text := range test.not {
				if strings.Contains(all, text) {
					t.Errorf("says %q", text)
				}
			}
			if t.Failed() {
				t.Log(out.String(), problems.String())
			}
		})
	}
}
