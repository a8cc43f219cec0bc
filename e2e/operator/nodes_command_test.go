package operator_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/tools"
)

func TestTheCommandNodesListsTheReportsOfAClusterAndAsksForNothingElse(t *testing.T) {
	f := newFixture(t)
	f.exampleProxy()
	f.cluster("c1")
	f.report("c1", "Applied")
	kcp := f.controlPlane("c1")
	f.machine("c1", "cp-0", kcp)
	f.awaitNodes("c1", 1, 0, 0, 0)
	f.changeSource("c1", otherPassword("changed"))
	since := f.awaitNodes("c1", 1, 1, 0, 0).Since.UTC().Format("2006-01-02T15:04:05Z")

	fairlead, err := tools.Program(t.Context(), "fairlead")
	f.must(err)
	kubeconfig, err := f.cp.Kubeconfig(f.cp.Admin())
	f.must(err)
	run := func(args ...string) string {
		t.Helper()
		command := exec.CommandContext(t.Context(), fairlead, append([]string{"nodes", "--kubeconfig", kubeconfig}, args...)...)
		out, err := command.CombinedOutput()
		if err != nil {
			t.Errorf("%v: %s", err, out)
		}
		return string(out)
	}
	mark, err := f.cp.AuditMark()
	f.must(err)
	want := "CLUSTER" + strings.Repeat(" ", len(f.namespace)-1) + "OWNER                       MACHINES   OUTDATED   SINCE\n" +
		f.namespace + "/c1   KubeadmControlPlane/c1-cp   1          1          " + since + "\n"
	if got := run("-n", f.namespace); got != want {
		t.Errorf("it says\n%s\nwant\n%s", got, want)
	}
	if got := run("-A", "--outdated"); !contains(got, f.namespace+"/c1   ") {
		t.Errorf("not in the whole fleet: %s", got)
	}
	events, err := f.cp.AuditEvents(mark, controlplane.ByUserAgent("fairlead/"))
	f.must(err)
	for _, e := range events {
		if e.Verb != "list" || e.ObjectRef.Resource != "proxyreports" {
			t.Errorf("it also asks: %s %s", e.Verb, e.RequestURI)
		}
	}
	if len(events) != 2 {
		t.Errorf("%d requests", len(events))
	}

	out, err := exec.CommandContext(t.Context(), fairlead, "nodes", "--kubeconfig", kubeconfig, "--context", "other").CombinedOutput()
	if err == nil || !contains(string(out), "no way to reach a cluster") {
		t.Errorf("%v: %s", err, out)
	}
}
