package diagnosis

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/revision"
)

var now = time.Date(2026, 11, 24, 10, 0, 0, 0, time.UTC)

func ago(d time.Duration) *metav1.Time {
	t := metav1.NewTime(now.Add(-d))
	return &t
}

func condition(kind string, status metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message, LastTransitionTime: *ago(time.Hour)}
}

// healthy returns a cluster with which nothing is wrong.
func healthy() Input {
	report := &v1alpha1.ProxyReport{ObjectMeta: metav1.ObjectMeta{Namespace: "org", Name: "c1"}}
	report.Status = v1alpha1.ProxyReportStatus{
		Mode: "Proxied", ProxyName: "corp", Cluster: v1alpha1.ReportedCluster{Generation: 1},
		Secrets:    []v1alpha1.SecretRecord{{Role: "cluster-values", Name: "c1-cluster-values", UID: "1", Written: ago(time.Hour)}, {Role: "systemd-proxy", Name: "c1-systemd-proxy", UID: "2"}},
		Nodes:      &v1alpha1.ReportedNodes{Since: ago(24 * time.Hour), Machines: 2},
		Conditions: []metav1.Condition{condition(v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonApplied, "through CorporateProxy corp")},
	}
	proxy := &v1alpha1.CorporateProxy{ObjectMeta: metav1.ObjectMeta{Name: "corp"}}
	proxy.Status.Conditions = []metav1.Condition{condition(v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonAccepted, "")}
	return Input{
		Now: now, Namespace: "org", Name: "c1", OperatorNamespace: "fairlead-system",
		Lease:   &Lease{Holder: "pod", Renewed: now.Add(-5 * time.Second), Duration: 15 * time.Second},
		Cluster: &metav1.ObjectMeta{Namespace: "org", Name: "c1", Generation: 1}, Report: report, Proxy: proxy,
		Secrets:  []metav1.ObjectMeta{{Name: "c1-cluster-values", UID: "1"}, {Name: "c1-systemd-proxy", UID: "2"}},
		Machines: []metav1.ObjectMeta{{Name: "m1", CreationTimestamp: *ago(time.Hour)}, {Name: "m2", CreationTimestamp: *ago(time.Minute)}},
	}
}

func add(all *[]metav1.Condition, kind string, status metav1.ConditionStatus, reason, message string) {
	*all = append(*all, condition(kind, status, reason, message))
}

func TestWhatIsSaidOfACluster(t *testing.T) {
	for name, test := range map[string]struct {
		change  func(*Input)
		verdict Verdict
		want    []string // severity, code, and the beginning of text and of what is to be done
	}{
		"nothing": {func(*Input) {}, NothingWrong, nil},
		"refused": {func(in *Input) {
			in.Report.Status.Conditions = []metav1.Condition{condition(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonRefused, "Secret c1-systemd-proxy: quota")}
		}, Wrong, []string{"Error Ready/Refused the API server refused a Secret: Secret c1-systemd-proxy: quota | platform team: look at admission policies, quotas, and whether the Secret is immutable"}},
		"contended, said once": {func(in *Input) {
			in.Report.Status.Conditions[0] = condition(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonContended, "by flux")
			add(&in.Report.Status.Conditions, v1alpha1.ConditionContended, metav1.ConditionTrue, v1alpha1.ReasonContended, "by flux")
		}, Wrong, []string{"Error Ready/Contended somebody undoes what the operator writes: by flux | platform team: stop the field manager that is named"}},
		"what is refused of the CorporateProxy is said once": {func(in *Input) {
			in.Report.Status.Conditions[0] = condition(v1alpha1.ConditionReady, metav1.ConditionFalse, "InvalidProxy", "Secret proxy: http: no host")
			in.Proxy.Status.Conditions[0] = condition(v1alpha1.ConditionReady, metav1.ConditionFalse, "InvalidProxy", "Secret proxy: http: no host")
		}, Wrong, []string{"Error Ready/InvalidProxy the CorporateProxy cannot be used: Secret proxy: http: no host | owner of CorporateProxy corp: correct what is named"}},
		"an unknown reason": {func(in *Input) {
			in.Report.Status.Conditions[0] = condition(v1alpha1.ConditionReady, metav1.ConditionFalse, "OfTomorrow", "no")
			add(&in.Report.Status.Conditions, "OfTomorrow", metav1.ConditionTrue, "It", "is")
		}, Wrong, []string{
			"Error Ready/OfTomorrow the cluster does not get its settings: no | platform team: kubectl describe proxyreport c1 --namespace org",
			"Info OfTomorrow/It OfTomorrow is True (It), which this version of fairlead does not know: is | ",
		}},
		"findings of lint": {func(in *Input) {
			in.Report.Status.Findings = []v1alpha1.ReportedFinding{
				{Code: "MissingNodes", Severity: "Warning", Message: "no network"},
				{Code: "Unmatched", Severity: "Warning", Entries: []string{"svc"}, Message: "some use the proxy"},
				{Code: "Apex", Severity: "Info", Message: "it"},
			}
		}, NothingWrong, []string{
			"Info Findings/MissingNodes lint says Warning: no network | owner of CorporateProxy corp: docs/reference/lint.md says what to do about MissingNodes",
			"Info Findings/Unmatched lint says Warning: svc: some use the proxy | ",
		}},
		"a new cluster that waits for its provider":                 {waits(true, 29*time.Minute, "EndpointUnknown"), NothingWrong, []string{"Info Ready/EndpointUnknown the address"}},
		"a new one that is not read, and waits for its provider":    {waits(false, time.Minute, "FactsPending"), NothingWrong, []string{"Info Ready/FactsPending"}},
		"a cluster that waits for its provider for too long":        {waits(true, 30*time.Minute, "EndpointUnknown"), Wrong, []string{"Error Ready/EndpointUnknown"}},
		"a new cluster that waits for what does not come by itself": {waits(true, time.Minute, "InvalidCluster"), Wrong, []string{"Error Ready/InvalidCluster"}},
		"the operator has stopped": {func(in *Input) { in.Lease.Renewed = now.Add(-10 * time.Minute) }, Wrong, []string{
			"Error Operator/Stopped the operator does not run: it renewed its Lease fairlead-system/fairlead-operator the last time then, and the statuses below are from before | platform team: kubectl get deployments,pods --namespace fairlead-system",
		}},
		"the operator has gone":           {func(in *Input) { in.Lease.Holder = "" }, Wrong, []string{"Error Operator/Stopped"}},
		"a clock that is not the same":    {func(in *Input) { in.Lease.Renewed = now.Add(-50 * time.Second) }, NothingWrong, nil},
		"no lease":                        {func(in *Input) { in.Lease = nil }, CannotTell, []string{"Unknown Operator/NoLease the namespace fairlead-system has no Lease"}},
		"no right to read the lease":      {func(in *Input) { in.Lease, in.Unread = nil, map[Source]string{SourceOperator: "forbidden"} }, CannotTell, []string{"Unknown Operator/Unread"}},
		"no right to read the report":     {func(in *Input) { in.Report, in.Unread = nil, map[Source]string{SourceReport: "forbidden"} }, CannotTell, []string{"Unknown ProxyReport/Unread"}},
		"no right to read machines":       {func(in *Input) { in.Machines, in.Unread = nil, map[Source]string{SourceMachines: "forbidden"} }, NothingWrong, nil},
		"no right to read the metadata":   {func(in *Input) { in.Secrets, in.Unread = nil, map[Source]string{SourceSecrets: "forbidden"} }, NothingWrong, nil},
		"no report":                       {func(in *Input) { in.Report = nil }, Wrong, []string{"Error ProxyReport/NotFound"}},
		"an empty report":                 {func(in *Input) { in.Report.Status = v1alpha1.ProxyReportStatus{} }, CannotTell, []string{"Unknown ProxyReport/Empty"}},
		"no Cluster":                      {func(in *Input) { in.Cluster = nil }, Wrong, []string{"Warning Cluster/NotFound"}},
		"a Cluster that is being deleted": {func(in *Input) { in.Cluster.DeletionTimestamp = ago(time.Minute) }, NothingWrong, []string{"Info Cluster/Deleting"}},
		"a change of the Cluster":         {func(in *Input) { in.Cluster.Generation = 2 }, NothingWrong, []string{"Info Cluster/Changed"}},
		"a Secret that is gone": {func(in *Input) { in.Secrets = in.Secrets[1:] }, Wrong, []string{
			`Error Secret/Missing the Secret c1-cluster-values is gone; it was written then, and the operator writes it again within its interval | platform team: kubectl annotate proxyreport c1 --namespace org --overwrite fairlead.io/reapply="$(date)"`,
		}},
		"a Secret of somebody": {func(in *Input) { in.Secrets[0].UID = "9" }, Wrong, []string{"Warning Secret/Replaced"}},
		"outdated machines": {func(in *Input) { in.Machines[0].CreationTimestamp = *ago(48 * time.Hour) }, Wrong, []string{
			"Warning MachinesOutdated/BuiltBeforeTheChange 1 of 2 machines were created before the settings changed, and keep the old ones until they are replaced | platform team: fairlead nodes --namespace org",
		}},
		"outdated machines that the operator replaces": {func(in *Input) {
			in.Machines[0].CreationTimestamp, in.Proxy.Spec.Node.Rollout = *ago(48 * time.Hour), v1alpha1.RolloutRolling
		}, NothingWrong, []string{"Info MachinesOutdated/BuiltBeforeTheChange"}},
		"outdated machines, by the report alone": {func(in *Input) {
			in.Unread, in.Report.Status.Nodes.Outdated = map[Source]string{SourceMachines: "forbidden"}, 2
			add(&in.Report.Status.Conditions, v1alpha1.ConditionMachinesOutdated, metav1.ConditionTrue, v1alpha1.ReasonBuiltBefore, "2")
		}, Wrong, []string{"Warning MachinesOutdated/BuiltBeforeTheChange 2 of 2 machines"}},
		"MachinePools": {func(in *Input) { in.Report.Status.Nodes.OutdatedMachinePools = 1 }, Wrong, []string{"Warning MachinesOutdated/MachinePools 1 MachinePool had"}},
		"a rollout that halted, and this one waits": {halted(1, "org/c9: Refused: no"), Wrong, []string{
			"Warning Stalled/Halted the rollout halted, and no further cluster gets the newest revision: revision 2 failed | platform team: repair the clusters that are named, or fairlead rollout undo corp",
		}},
		"a rollout that halted here": {halted(2, "org/c1: Refused: no"), Wrong, []string{
			"Error Stalled/Failed this cluster failed with revision 2 of CorporateProxy corp: Refused: no | platform team: repair the cluster, or fairlead rollout undo corp",
		}},
		"a rollout that halted here, since nobody observes": {halted(2, "org/c1: no progress for 10m0s: not observed since 2026-11-24T08:00:00Z"), Wrong, []string{
			"Error Stalled/Failed this cluster failed with revision 2 of CorporateProxy corp: no progress for 10m0s: not observed since 2026-11-24T08:00:00Z | platform team: see that fairlead-observe runs here",
		}},
		"a rollout that halted elsewhere, and this one has it": {halted(2, "org/c9: Refused: no"), NothingWrong, []string{
			"Info Stalled/Halted this cluster has the newest revision already. Of the others: the rollout halted",
		}},
		"a rollout that waits for the probes of this one": {func(in *Input) {
			halted(2, "org/c9: Refused: no")(in)
			in.Proxy.Spec.Rollout = &v1alpha1.Rollout{HaltOn: v1alpha1.HaltOn{Probes: v1alpha1.ProbesRequired}}
			in.Report.Status.Observed = &v1alpha1.Observed{Time: *ago(time.Minute), Egress: v1alpha1.EgressVerified, Revision: "corp/1/0123"}
		}, NothingWrong, []string{"Info Stalled/Halted this cluster has its Secrets, and its probes are awaited if they held before; the rollout halted"}},
		"egress failed, without a condition": {func(in *Input) {
			in.Report.Status.Observed = &v1alpha1.Observed{Time: *ago(time.Minute), Egress: v1alpha1.EgressFailed, Message: "https://a.example: 407"}
		}, Wrong, []string{"Error EgressVerified/Failed programs in the cluster do not get out as they should: https://a.example: 407"}},
		"the preflight failed": {func(in *Input) {
			add(&in.Proxy.Status.Conditions, v1alpha1.ConditionProxyReachable, metav1.ConditionFalse, "CredentialsRefused", "https://a.example")
		}, Wrong, []string{"Warning ProxyReachable/CredentialsRefused no cluster gets the newest revision: the proxy refuses user or password (407): https://a.example | owner of CorporateProxy corp: correct the Secret that it names, which is tried at once, or"}},
		"the preflight failed, and the rollout with it": {func(in *Input) {
			in.Proxy.Spec.Source.URL = &v1alpha1.ProxyURLs{CredentialsRef: &v1alpha1.SecretReference{Name: "a", Next: &v1alpha1.SuccessorReference{Name: "b"}}}
			halted(1, "")(in)
			in.Proxy.Status.Conditions[1].Reason = v1alpha1.ReasonPreflightFailed
			add(&in.Proxy.Status.Conditions, v1alpha1.ConditionProxyReachable, metav1.ConditionFalse, "CredentialsRefused", "https://a.example")
		}, Wrong, []string{"Warning ProxyReachable/CredentialsRefused no cluster gets the newest revision: the proxy refuses user or password (407): https://a.example | owner of CorporateProxy corp: correct Secret b (next), which"}},
		"the preflight does not answer": {func(in *Input) {
			halted(1, "")(in)
			in.Proxy.Status.Conditions[1].Reason = v1alpha1.ReasonPreflightNoAnswer
			add(&in.Proxy.Status.Conditions, v1alpha1.ConditionProxyReachable, metav1.ConditionUnknown, v1alpha1.ReasonNoAnswer, "no answer")
		}, Wrong, []string{"Warning Stalled/PreflightNoAnswer"}},
		"what to do is that of the reasons": {func(in *Input) {
			in.Report.Status.Observed = &v1alpha1.Observed{Time: *ago(time.Minute), Egress: v1alpha1.EgressFailed}
			add(&in.Report.Status.Conditions, v1alpha1.ConditionEgressVerified, metav1.ConditionFalse, v1alpha1.ReasonFailed, "https://a.example: CredentialsRefused (407); https://b.example: AuthorityUnknown")
		}, Wrong, []string{
			"Error EgressVerified/Failed programs in the cluster do not get out as they should: https://a.example: CredentialsRefused (407); https://b.example: AuthorityUnknown | " +
				"CredentialsRefused: owner of CorporateProxy corp: correct the password; or have the account unlocked, and restart relays and probe, which ask again in up to an hour; " +
				"AuthorityUnknown: platform team: put its authority into trustedCA.bundle of fairlead-policies, if it is the company's. All messages: kubectl get configmap fairlead-probe",
		}},
		"nobody observes any more, said once": {func(in *Input) {
			in.Report.Status.Observed = &v1alpha1.Observed{Time: *ago(time.Hour), Egress: v1alpha1.EgressVerified, Period: &metav1.Duration{Duration: 5 * time.Minute}}
			add(&in.Report.Status.Conditions, v1alpha1.ConditionEgressVerified, metav1.ConditionUnknown, v1alpha1.ReasonStale, "the last observation is older than two periods")
			add(&in.Report.Status.Conditions, v1alpha1.ConditionPodsReached, metav1.ConditionUnknown, v1alpha1.ReasonStale, "the last observation is older than two periods")
		}, CannotTell, []string{"Unknown EgressVerified/Stale nobody has looked for two periods whether programs in the cluster get out, and which credentials they have: the last observation is older than two periods | platform team: see that fairlead-observe runs here"}},
		"an old observation": {func(in *Input) {
			in.Report.Status.Observed = &v1alpha1.Observed{Time: *ago(time.Hour), Egress: v1alpha1.EgressVerified, Period: &metav1.Duration{Duration: 5 * time.Minute}}
		}, CannotTell, []string{"Unknown Observed/Stale"}},
		"never observed": {func(in *Input) {
			in.Report.Status.Observed = &v1alpha1.Observed{Egress: v1alpha1.EgressUnknown, Message: "no kubeconfig", Period: &metav1.Duration{Duration: 5 * time.Minute}}
		}, CannotTell, []string{
			"Unknown EgressVerified/Unknown whether programs in the cluster get out is not known: no kubeconfig | platform team: look whether the Secret c1-kubeconfig is right, whether",
		}},
		"settings that do not come into the cluster": {tried(2, time.Hour), Wrong, []string{
			"Warning Observed/OlderRevision the cluster still uses other settings (corp/2/2f5ee655f955) than those of revision 6, which its Secrets have since then | whoever installs fairlead-policies in the cluster: upgrade",
		}},
		"settings that are under way":            {tried(2, 31*time.Minute), NothingWrong, nil},
		"settings that came":                     {tried(6, time.Hour), NothingWrong, nil},
		"a chart that does not say which it has": {tried(0, time.Hour), NothingWrong, nil},
		"nodes that do not get out": {func(in *Input) {
			in.Report.Status.Observed = &v1alpha1.Observed{Time: *ago(time.Minute), Egress: v1alpha1.EgressVerified, Nodes: &v1alpha1.ObservedNodes{Total: 9, Failed: 2}}
		}, Wrong, []string{"Error Observed/NodesFailed 2 of 9 nodes"}},
		"the worst comes first": {func(in *Input) {
			in.Lease = nil
			add(&in.Report.Status.Conditions, v1alpha1.ConditionHeld, metav1.ConditionTrue, v1alpha1.ReasonWaitsForWave, "the ProxyOverride changed")
			add(&in.Report.Status.Conditions, v1alpha1.ConditionPaused, metav1.ConditionTrue, v1alpha1.ReasonPaused, "the Cluster is paused")
			in.Secrets = nil
		}, Wrong, []string{"Error Secret/Missing", "Error Secret/Missing", "Warning Paused/Paused", "Unknown Operator/NoLease", "Info Held/WaitsForWave"}},
	} {
		t.Run(name, func(t *testing.T) {
			in := healthy()
			test.change(&in)
			d := Judge(in)
			if d.Verdict != test.verdict || len(d.Sentences) != len(test.want) {
				t.Fatalf("%s, want %s; it says %+v", d.Verdict, test.verdict, d.Sentences)
			}
			for i, s := range d.Sentences {
				if got := fmt.Sprintf("%s %s %s | %s", s.Severity, s.Code, s.Text, s.Do); !strings.HasPrefix(got, test.want[i]) {
					t.Errorf("it says\n%s\nwant\n%s", got, test.want[i])
				}
			}
		})
	}
}

// waits returns a cluster that was created a while ago and is not Ready; its Cluster may not be read.
func waits(read bool, created time.Duration, reason string) func(*Input) {
	return func(in *Input) {
		in.Report.CreationTimestamp, in.Cluster.CreationTimestamp = *ago(created), *ago(created)
		in.Report.Status.Conditions[0] = condition(v1alpha1.ConditionReady, metav1.ConditionFalse, reason, "")
		if !read {
			in.Cluster, in.Unread = nil, map[Source]string{SourceCluster: "forbidden"}
		}
	}
}

// tried returns a cluster whose Secrets have had revision 6 for a while, and whose probe tried another a minute ago.
func tried(number int64, since time.Duration) func(*Input) {
	observed := ""
	if number > 0 {
		observed = revision.Identity(v1alpha1.ReportedRevision{Proxy: "corp", Number: number})
	}
	return func(in *Input) {
		in.Report.Status.Revision, in.Report.Status.RevisionSince = &v1alpha1.ReportedRevision{Proxy: "corp", Number: 6}, ago(since)
		in.Report.Status.Observed = &v1alpha1.Observed{
			Time: *ago(time.Minute), Period: &metav1.Duration{Duration: 10 * time.Minute}, Egress: v1alpha1.EgressVerified, Revision: observed,
		}
	}
}

func halted(revision int64, failure string) func(*Input) {
	return func(in *Input) {
		in.Report.Status.Revision = &v1alpha1.ReportedRevision{Proxy: "corp", Number: revision}
		in.Proxy.Status.Rollout = &v1alpha1.RolloutStatus{Revision: 2, Failures: []string{failure}}
		add(&in.Proxy.Status.Conditions, v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonHalted, "revision 2 failed")
	}
}

// What was not looked at is not called right.
func TestItSaysWhatItLookedAt(t *testing.T) {
	in := healthy()
	if text, err := json.Marshal(Judge(in)); err != nil || !strings.Contains(string(text), `"sentences":[]`) {
		t.Errorf("%s, %v", text, err)
	}
	in.Machines, in.Unread = nil, map[Source]string{SourceMachines: "you need the right to list machines"}
	d := Judge(in)
	if want := []string{"Lease of the operator", "Cluster", "ProxyReport", "CorporateProxy", "metadata of both Secrets"}; !slices.Equal(d.LookedAt, want) {
		t.Errorf("it looked at %q, want %q", d.LookedAt, want)
	}
	if len(d.NotLookedAt) != 2 || d.NotLookedAt[0] != "metadata of the Machines: you need the right to list machines" || !strings.Contains(d.NotLookedAt[1], "observe") {
		t.Errorf("it did not look at %q", d.NotLookedAt)
	}
	in.Report.Status.Observed = &v1alpha1.Observed{Time: *ago(0), Egress: v1alpha1.EgressVerified}
	if d = Judge(in); len(d.NotLookedAt) != 1 || d.LookedAt[5] != "status.observed of the ProxyReport" {
		t.Errorf("%q and %q", d.LookedAt, d.NotLookedAt)
	}
}

// constants returns the string constants of a file whose name begins so.
func constants(t *testing.T, file, prefix string) (values []string) {
	t.Helper()
	tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(tree, func(node ast.Node) bool {
		spec, ok := node.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 || !strings.HasPrefix(spec.Names[0].Name, prefix) {
			return true
		}
		if kind, typed := spec.Type.(*ast.Ident); prefix == "" && (!typed || kind.Name != "Reason") {
			return true
		}
		if literal, ok := spec.Values[0].(*ast.BasicLit); ok {
			value, err := strconv.Unquote(literal.Value)
			if err != nil {
				t.Fatal(err)
			}
			values = append(values, value)
		}
		return true
	})
	if len(values) < 10 {
		t.Fatalf("%s has %d constants: the search is blind", file, len(values))
	}
	return values
}

// The page's list says what doctor says, without who is to do it.
func TestThePageSaysWhatToDoAboutAReason(t *testing.T) {
	page, err := os.ReadFile("../../../docs/how-to/probes.md")
	if err != nil {
		t.Fatal(err)
	}
	links := regexp.MustCompile(`\[([^]]*)\]\([^)]*\)`)
	_, section, _ := strings.Cut(string(page), "\n## Reasons\n")
	section, _, _ = strings.Cut(section, "\n## ")
	items := map[string]string{}
	for _, m := range regexp.MustCompile("(?m)^- `(\\w+)`(?: \\([\\d, ]+\\))?: (.+)$").FindAllStringSubmatch(section, -1) {
		items[m[1]] = strings.ReplaceAll(links.ReplaceAllString(m[2], "$1"), "`", "")
	}
	for reason, r := range probes {
		if _, do, _ := strings.Cut(r.do, ": "); items[reason] != do {
			t.Errorf("%s: the page says %q, and doctor %q", reason, items[reason], do)
		}
	}
	if len(items) != len(probes) {
		t.Errorf("the page has %d reasons, and there are %d", len(items), len(probes))
	}
}

func TestEveryConditionAndReasonHasASentence(t *testing.T) {
	const names = "../../../api/v1alpha1/names.go"
	for _, kind := range constants(t, names, "Condition") {
		if _, of := ofReport[kind]; !of {
			if _, of = ofProxy[kind]; !of {
				t.Errorf("nothing is said of the condition %s", kind)
			}
		}
	}
	reasons := map[string]bool{}
	for _, kinds := range []map[string]kind{ofReport, ofProxy} {
		for name, k := range kinds {
			for reason, r := range k.reasons {
				reasons[reason] = true
				if r.text == "" && r != none || r.text != "" && !slices.Contains(severities, r.severity) {
					t.Errorf("%s/%s: %+v", name, reason, r)
				}
				if (r.severity == Error || r.severity == Warning) && r.do == "" {
					t.Errorf("%s/%s: who must do what?", name, reason)
				}
				if len(r.text) > 128 {
					t.Errorf("%s/%s: the text is too long for a condition: %s", name, reason, r.text)
				}
			}
		}
	}
	for _, reason := range slices.Concat(constants(t, names, "Reason"), constants(t, "../resolve/problem.go", "Reason"), constants(t, "../probe/result.go", "")) {
		if !reasons[reason] {
			t.Errorf("nothing is said of the reason %s", reason)
		}
	}
}
