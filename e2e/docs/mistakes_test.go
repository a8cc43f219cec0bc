package docs_test

import (
	"errors"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// What an author of a page gets wrong, and what looks like it and is right.
func TestTheLookUpsFindMistakesAndNothingElse(t *testing.T) {
	known, objects, all := manuals(t), readMentioned(t), classes(t)
	for line, want := range map[string]string{
		"kubectl -n fairlead-system rollout restrat deployment/fairlead-operator": "has no restrat",
		"helm -n x upgrde a b":                                              "unknown command",
		"helm -n x upgrade a b --reuse-valuez":                              "no --reuse-valuez",
		"sudo -E fairlead lintt":                                            "no lintt",
		"FOO=1 time fairlead lintt":                                         "no lintt",
		"fairlead version now":                                              "no now",
		"fairlead help imprt":                                               "no imprt",
		"kubectl get proxyreportz -A":                                       "no kind proxyreportz",
		"kubectl -n fairlead-system logs deployment/fairlead-nosuch":        "fairlead-nosuch",
		"kubectl get secret fairlead-proxie":                                "fairlead-proxie",
		"kubectl get pods --namespace fairlead-sistem":                      "fairlead-sistem",
		"helm upgrade f charts/fairlead-policies --set relay.nosuchvalue=1": "relay.nosuchvalue",
		"fairlead import --from eks a.yaml":                                 "not eks",
		"fairlead render -o systemdd":                                       "not systemdd",
		"go test ./e2e/nosuch/...":                                          "no package ./e2e/nosuch",
		"kubectl get pods -namespace x":                                     "no -namespace",
		"kubectl logs -lapp=x":                                              "",
		"kubectl debug -it x":                                               "",
		"fairlead import -Rf a":                                             "",
		"fairlead help import":                                              "",
		"fairlead render -o java":                                           "",
		"go test ./internal/cli -run TestTheCommandLine/sub":                "",
		"kubectl create namespace fairlead-mine":                            "",
		"kubectl delete clusterrole,proxyreports.fairlead.io --all":         "",
		"helm upgrade c cilium/cilium --set nosuch.value=1":                 "",
	} {
		for _, words := range commandsIn(line) {
			check := known[words[0]]
			if check == nil {
				t.Errorf("%s: nothing knows %s", line, words[0])
				continue
			}
			err := errors.Join(check(words), objects.check(words, ""))
			if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", line, err, want)
			}
		}
	}
	for line, want := range map[string]string{
		"[a](https://github.com/fairlead-io/fairlead/blob/main/docs/nosuch.md#gone)": "no docs/nosuch.md",
		"[ref]: nosuch.md":                   "no nosuch.md",
		"[a](ftp://x.example)":               "no address",
		`[t](docs/how-to/import.md "Title")`: "",
		"[a](http://127.0.0.1:8080/)":        "",
		"[a](mailto:a@example.com)":          "",
	} {
		line = titled.ReplaceAllString(line, "$1)")
		got := broken.FindString(line)
		for _, target := range targets(line) {
			got += checkLink(t, "README.md", target)
		}
		if (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
	for name, want := range map[string]bool{"fairlead.io/clust": false, "fairlead.io/cluster": true, "proxy.corp.example": true, "exclude.nosuch": false} {
		i := slices.IndexFunc(all, func(c class) bool { return c.pattern.MatchString(name) })
		if got := i >= 0 && all[i].known(all[i].pattern.FindStringSubmatch(name)[1]); got != want {
			t.Errorf("%s: known is %v", name, got)
		}
	}
	if schema, _ := readSchemas(t).chartOf("engine: Native\nexclud: {}\n"); schema == nil {
		t.Error("a misspelt key hides values")
	}
	for _, sentence := range []string{"all 31 clients", "Each of the 31 clients", "23 of 31 clients", "knows 31 clients", "of any of our 31 clients"} {
		if !clientsOf.MatchString(sentence) {
			t.Errorf("%q is not looked at", sentence)
		}
	}
}

// govulncheck finds nothing in an empty folder, and is content.
func TestVulncheckNeedsADatabase(t *testing.T) {
	command := exec.Command("make", "vulncheck", "GOVULNDB=file://"+t.TempDir())
	command.Dir = root
	if output, err := command.CombinedOutput(); err == nil || !strings.Contains(string(output), "index/db.json: No such file") {
		t.Errorf("%v: %s", err, output)
	}
}
