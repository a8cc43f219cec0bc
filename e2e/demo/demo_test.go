package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/repository"
	"github.com/fairlead-io/fairlead/e2e/tier"
)

// A demo that is kept starts its own program again, which is this one here.
func TestMain(m *testing.M) {
	if slices.Contains(os.Args, nodeFlag) {
		main()
		return
	}
	controlplanetest.Main(m)
}

// runningIn are the programs that have a folder as their working directory, as all of a demo's have.
func runningIn(t *testing.T, dir string) []string {
	t.Helper()
	links, err := filepath.Glob("/proc/[0-9]*/cwd")
	controlplanetest.Require(t, err)
	var found []string
	for _, link := range links {
		if cwd, err := os.Readlink(link); err == nil && strings.HasPrefix(cwd, dir) {
			name, _ := os.ReadFile(filepath.Join(filepath.Dir(link), "comm"))
			found = append(found, strings.TrimSpace(string(name)))
		}
	}
	return found
}

func checkNothingIsLeft(t *testing.T, dir string) {
	t.Helper()
	if left := runningIn(t, dir); len(left) > 0 {
		t.Errorf("still running: %q", left)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left among the temporary files: %v %v", left, err)
	}
}

// short is a folder for temporary files with a name that has room for a socket's.
func short(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "f")
	controlplanetest.Require(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	t.Setenv("TMPDIR", dir)
	return dir
}

// Each of these is on one line, blanks apart.
var shown = []string{
	`\$ fairlead render --values examples/secret-values.yaml --cluster examples/cluster.yaml -o noproxy`,
	`(In their newest versions, a|A)ll \d+ clients go direct because of example.com(;.*)?`,
	`\$ helm install fairlead charts/fairlead -n fairlead-system --create-namespace -f examples/secret-values.yaml`,
	`fairlead-operator --namespace=fairlead-system .*`,
	`as system:serviceaccount:fairlead-system:fairlead-operator, with its token and no other rights`,
	`frankfurt Proxied default Portable/v3 25 0 True Applied \d+s`,
	`mycluster Proxied default Portable/v3 21 0 True Applied \d+s`,
	`http: http://myProxyUser:\*\*\*@192.168.52.220:3128`,
	`Environment="NO_PROXY=100.64.0.0/13,.*`,
	`\$ kubectl get secret -n org-acme mycluster-cluster-values .*`,
	`helm install fairlead-policies charts/fairlead-policies -n fairlead-system -f -`,
	`fairlead-operator replicate --namespace=fairlead-system .*`,
	`HTTP_PROXY, http_proxy Secret fairlead-proxy http://myProxyUser:\*\*\*@192.168.52.220:3128`,
	`HTTPS_PROXY, https_proxy Secret fairlead-proxy http://myProxyUser:\*\*\*@192.168.52.220:3128`,
	`NO_PROXY, no_proxy Secret fairlead-proxy 100.64.0.0/13,.*,\.\.\. \(23 entries\)`,
	`\+ --keepalive-time=30s`,
	`\+ HTTP_PROXY http_proxy HTTPS_PROXY https_proxy NO_PROXY no_proxy, from the Secret fairlead-proxy`,
	`org-acme/mycluster 21 23 mirror.corp.example .mirror.corp.example`,
	`org-acme/frankfurt 25 27 mirror.corp.example .mirror.corp.example`,
	`(In their newest versions, a|A)ll \d+ clients go direct because of mirror.corp.example(;.*)?`,
	`(In their newest versions, a|A)ll \d+ clients use the proxy: no entry matches(;.*)?`,
	`shop Pod/orders 1 Uninjected orders older than the policy: .*`,
	`shop Pod/web 1 Fine web -`,
}

// Of a demo that is kept, and of one that is not.
var (
	shownKept = []string{
		`make demo-stop`,
		`The demo took [\d.]+ s.`,
	}
	shownWithThird = []string{
		`\$ helm upgrade fairlead charts/fairlead -n fairlead-system --reset-then-reuse-values --set deliver.enabled=true`,
		`fairlead-operator deliver --namespace=fairlead-system .*`,
		`\$ helm template fairlead-policies .* --set engine=Native --set source.existing=true \|`,
		`fairlead render bundle -f - --selector fairlead.io/cluster -n org-acme \|`,
		`\$ kubectl label cluster berlin -n org-acme fairlead.io/cluster=berlin`,
		`machines: KubeadmControlPlane none 2 files, 2 commands`,
		`machines: KubeadmConfigTemplate none 2 files, 2 commands`,
		`berlin: Secret fairlead-source none http://myProxyUser:\*\*\*@192.168.52.220:3128`,
		`berlin: policies none .* and \d+ others`,
		`berlin: Deployment none fairlead-replicator`,
		`NO_PROXY, no_proxy Secret fairlead-proxy 10\.128\.0\.0/16,.*`,
		`cluster-api-core .* \d+`,
		`No program of Fairlead, and no account of fairlead-system, is among them.`,
	}
	shownWithRelay = []string{
		`HTTPS_PROXY, https_proxy the pod itself http://shop@fairlead-relay.fairlead-system.svc:3128`,
		`NO_PROXY, no_proxy the pod itself 100.64.0.0/13,.*,\.\.\. \(23 entries\)`,
		`the first password \d+ \d+ 0 first`,
		`the second one is set \d+ \d+ 0 second`,
		`the first one is revoked \d+ \d+ 0 second`,
		`\[\d+/\d+\] take everything down .*`,
	}
)

func check(t *testing.T, text string, err error, lines ...string) {
	t.Helper()
	controlplanetest.Require(t, err)
	text = regexp.MustCompile(` +`).ReplaceAllString(text, " ")
	for _, line := range lines {
		if !regexp.MustCompile(`(?m)^ ?` + line + `$`).MatchString(text) {
			t.Errorf("no line is as %s", line)
		}
	}
	for _, never := range []string{"mySuperSecretPassword", firstPassword, secondPassword, "\x1b"} {
		if strings.Contains(text, never) {
			t.Errorf("it shows %q", never)
		}
	}
	if t.Failed() {
		t.Logf("\n%s", text)
	}
}

func TestTheDemoEndsWithARotationAndLeavesNothing(t *testing.T) {
	dir := short(t)
	var out bytes.Buffer
	err := demo(t.Context(), newScreen(&out), false)
	check(t, out.String(), err, slices.Concat(shown, shownWithThird, shownWithRelay)...)
	checkNothingIsLeft(t, dir)
}

func TestTheDemoShowsWhatItPromisesAndIsEndedByDemoStop(t *testing.T) {
	tier.Full(t)
	dir := short(t)
	t.Cleanup(func() { _ = run(context.Background(), []string{"--stop"}) })
	var out bytes.Buffer
	err := demo(t.Context(), newScreen(&out), true)
	check(t, out.String(), err, append(slices.Clone(shown), shownKept...)...)
	if running := runningIn(t, dir); len(running) != 7 {
		t.Errorf("kept are %q", running)
	}
	checkWhatIsInstalledRuns(t, out.String(), filepath.Join(dir, "fairlead-demo"))
	if err := demo(t.Context(), newScreen(&out), true); err == nil || !strings.Contains(err.Error(), "make demo-stop") {
		t.Errorf("a second one: %v", err)
	}
	controlplanetest.Require(t, run(t.Context(), []string{"--stop"}))
	checkNothingIsLeft(t, dir)
	controlplanetest.Require(t, run(t.Context(), []string{"--stop"})) // once more is no error
}

// checkWhatIsInstalledRuns does what pages do with a demo that is kept, by the line that it prints.
func checkWhatIsInstalledRuns(t *testing.T, text, home string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-ec", regexp.MustCompile(`export PATH=.*`).FindString(text)+`
kubectl create namespace my-shop
timeout 60 sh -c 'until kubectl run -n my-shop mine --image=registry.example/mine:1 --dry-run=server -o name; do :; done'
helm uninstall fairlead -n fairlead-system
helm install fairlead charts/fairlead -n fairlead-system -f examples/secret-values.yaml --set deliver.enabled=true --wait --timeout 1m
fairlead pods -n shop --all | grep Uninjected`)
	cmd.Dir, cmd.Env = repository.Path(), append(os.Environ(), "HOME="+home)
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, said)
	}
}

// The demo itself ends with an error if the sweep finds an account of Fairlead: these are the reads that it must find.
func TestTheSweepFindsWhoeverReadsAKubeconfig(t *testing.T) {
	read := func(verb, namespace, name, uri string, code int32) auditv1.Event {
		return auditv1.Event{
			Verb: verb, RequestURI: uri, ResponseStatus: &metav1.Status{Code: code},
			ObjectRef: &auditv1.ObjectReference{Resource: "secrets", Namespace: namespace, Name: name},
		}
	}
	for name, one := range map[string]struct {
		event auditv1.Event
		found bool
	}{
		"by its name":                      {read("get", clusters, "berlin-kubeconfig", "", 200), true},
		"in a list of the namespace":       {read("list", clusters, "", "/api/v1/namespaces/org-acme/secrets", 200), true},
		"in a watch of all namespaces":     {read("watch", "", "", "/api/v1/secrets?watch=true", 200), true},
		"refused":                          {read("get", clusters, "berlin-kubeconfig", "", 403), false},
		"another Secret":                   {read("get", clusters, "berlin-cluster-values", "", 200), false},
		"a list of another namespace":      {read("list", shop, "", "/api/v1/namespaces/shop/secrets", 200), false},
		"a watch of the one with one name": {read("watch", "", "", "/api/v1/secrets?fieldSelector=metadata.name%3Dfairlead-proxy", 200), false},
		"a watch of the kubeconfig itself": {read("watch", clusters, "", "/x?fieldSelector=metadata.name%3Dberlin-kubeconfig", 200), true},
		"a write":                          {read("create", clusters, "berlin-kubeconfig", "", 201), false},
	} {
		if readsKubeconfig(one.event) != one.found {
			t.Errorf("%s: %v", name, !one.found)
		}
	}
}

func TestTheExampleHasTheConditionOfTheDemosClass(t *testing.T) {
	condition := regexp.MustCompile(`enabledIf: .*`).Find(classYAML)
	example := controlplanetest.ReadFile(t, repository.Path("examples/nodes/clusterclass.yaml"))
	if len(condition) == 0 || !bytes.Contains(example, append(condition, '\n')) {
		t.Errorf("it lacks %s", condition)
	}
}

// interrupter cancels as soon as the demo says something.
type interrupter struct {
	after  string
	cancel context.CancelFunc
	said   strings.Builder
}

func (i *interrupter) Write(text []byte) (int, error) {
	i.said.Write(text)
	if strings.Contains(i.said.String(), i.after) {
		i.cancel()
	}
	return len(text), nil
}

func TestAnInterruptedDemoLeavesNothing(t *testing.T) {
	tier.Full(t)
	for keep, after := range map[bool]string{
		true:  "start etcd",
		false: "Cluster API:", // Kyverno is starting then
	} {
		dir := short(t)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		on := &interrupter{after: after, cancel: cancel}
		if err := demo(ctx, newScreen(on), keep); !errors.Is(err, context.Canceled) {
			t.Errorf("it ends with %v\n%s", err, &on.said)
		}
		checkNothingIsLeft(t, dir)
	}
}
