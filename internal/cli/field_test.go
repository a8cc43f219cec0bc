package cli_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/fairlead-io/fairlead/internal/cli"
)

// What people with fleets behind proxies report, each with the answer that is right, in testdata/field/*.txtar.
func TestWhatPeopleReportIsAnsweredRight(t *testing.T) { testscript.Run(t, scripts("testdata/field")) }

// The same for inputs that are files of testdata/field.
func TestAReportAboutAFileIsAnsweredRight(t *testing.T) {
	const eks = "172.20.0.0/16,4f0e2d.yl4.eu-central-1.eks.amazonaws.com,.cluster.local,localhost,127.0.0.1,.localhost,.svc"
	const lost = "warning: testdata/field/twice.yaml:22: spec.template.spec.containers[0].env is set more than once: line 22 counts, and not line 18 with HTTPS_PROXY, NO_PROXY; what line 18 has is lost: write both into one"
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
		"env twice, in doctor":        {command: "doctor tunnel -f twice.yaml", status: 1, says: []string{lost, "Error NoProxy"}},
		"env twice, in mutate":        {command: "mutate -f twice.yaml --proxy proxy.yaml --cluster cluster.yaml", says: []string{lost, "name: POD_NAME"}},
		"env twice, in pods":          {command: "pods -f twice.yaml", status: 1, says: []string{lost, "no pods in the files; fairlead lint -f reads what makes pods"}},
		"env twice, beside a Cluster": {command: "lint --no-proxy a.example --cluster cluster.yaml --cluster twice.yaml", status: 1, says: []string{lost}},
		"noProxy twice": {
			command: "lint --values twice-values.yaml --cluster cluster.yaml",
			says:    []string{"warning: testdata/field/twice-values.yaml:5: proxy.noProxy is set more than once: line 5 counts, and not line 4; what line 4 has is lost: write both into one"},
		},
		"noProxy twice, in plan": {
			command: "plan testdata/field/before testdata/field/after", status: 1, says: []string{"warning: secret-values.yaml.patch:5: proxy.noProxy is set more than once: line 5 counts, and not line 4; what line 4 has is lost: write both into one"},
		},
		"names without a dot, in lint": {
			command: "lint --proxy proxy.yaml --cluster cluster.yaml -f argocd.yaml",
			says:    []string{"Warning  ShortName  argocd-repo-server, argocd-redis", "container server names argocd-repo-server (args[2])", "write argocd-repo-server.argocd.svc"},
		},
		"names without a dot, in doctor": {
			command: "doctor tunnel --proxy proxy.yaml --cluster cluster.yaml -f argocd.yaml", status: 1,
			says: []string{"Warning  ShortName  Deployment argocd/argocd-server", "argocd-repo-server (args[2])"},
		},
		"names that are listed": {
			command: "lint --no-proxy argocd-repo-server,argocd-redis -f argocd.yaml", not: []string{"ShortName"},
		},
		"an address that ends as a port": {
			command: "lint --no-proxy fd00::1:443",
			says:    []string{"Info     PortLike  fd00::1:443", "not port 443 of fd00::1", "mend: list fd00::1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			arguments := strings.Fields(test.command)
			for i, argument := range arguments {
				switch {
				case argument == "argocd.yaml":
					arguments[i] = "../agents/shortname/testdata/field/" + argument
				case strings.HasSuffix(argument, ".yaml"):
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
