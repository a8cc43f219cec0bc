package fleet_test

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/cli/fleet"
	"github.com/fairlead-io/fairlead/internal/core/document"
	"github.com/fairlead-io/fairlead/internal/core/plan"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
)

// manifests is a fleet that tests change: the texts of its objects, by name.
type manifests map[string]string

func (m manifests) documents(t testing.TB) []document.Document {
	t.Helper()
	var all []document.Document
	for _, name := range slices.Sorted(maps.Keys(m)) {
		documents, err := document.Parse(name, []byte(m[name]))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, documents...)
	}
	return all
}

func (m manifests) with(name, text string) manifests {
	changed := maps.Clone(m)
	changed[name] = text
	if text == "" {
		delete(changed, name)
	}
	return changed
}

func clusterText(name, labels, endpoint, pods string) string {
	return fmt.Sprintf(`{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": {"name": %q, "namespace": "org", "labels": {%s}},
 "spec": {"clusterNetwork": {"services": {"cidrBlocks": ["172.31.0.0/16"]}, "pods": {"cidrBlocks": [%q]}},
  "controlPlaneEndpoint": {"host": %q, "port": 6443}}}`, name, labels, pods, endpoint)
}

func proxyText(name, spec string) string {
	return fmt.Sprintf(`{"apiVersion": "fairlead.io/v1alpha1", "kind": "CorporateProxy", "metadata": {"name": %q}, "spec": {%s}}`, name, spec)
}

func overrideText(name, spec string) string {
	return fmt.Sprintf(`{"apiVersion": "fairlead.io/v1alpha1", "kind": "ProxyOverride", "metadata": {"name": %q, "namespace": "org"}, "spec": {%s}}`, name, spec)
}

const source = `"source": {"url": {"http": "http://proxy.example:3128", "https": "http://proxy.example:3128"}}`

// compared returns the plan from one state to another.
func compared(t testing.TB, before, after manifests, upgrade bool) plan.Plan {
	t.Helper()
	p, err := tryCompare(t, before, after, upgrade)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func tryCompare(t testing.TB, before, after manifests, upgrade bool) (plan.Plan, error) {
	t.Helper()
	states := fleet.States{
		Before: []fleet.Part{{Documents: before.documents(t)}}, After: []fleet.Part{{Documents: after.documents(t)}},
		Upgrade: upgrade, Warnings: io.Discard,
	}
	was, is, err := states.Read()
	if err != nil {
		return plan.Plan{}, err
	}
	return plan.Compare(was, is, plan.Options{})
}

// only returns the one change of a plan.
func onlyChange(t *testing.T, p plan.Plan) plan.Change {
	t.Helper()
	if len(p.Clusters) != 1 {
		t.Fatalf("%d clusters change, want 1: %+v", len(p.Clusters), p.Clusters)
	}
	return p.Clusters[0]
}

func texts(entries []plan.Entry) string {
	var all []string
	for _, e := range entries {
		all = append(all, e.Entry)
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// one returns a fleet of one cluster.
func one() manifests {
	return manifests{"proxy": proxyText("default", source), "c1": clusterText("c1", `"stage": "canary"`, "api.c1.example", "100.64.0.0/12")}
}

func report(name, annotations, status string) string {
	return fmt.Sprintf(`{"apiVersion": "fairlead.io/v1alpha1", "kind": "ProxyReport", "metadata": {"name": %q, "namespace": "org", "annotations": {%s}}, "status": {%s}}`,
		name, annotations, status)
}

func TestWhatAReportPromisesIsNoChange(t *testing.T) {
	for name, promised := range map[string]string{
		"by its annotation": report("c1", `"fairlead.io/form": "Exact"`, ""),
		"by its status":     report("c1", "", `"form": "Portable/v1"`),
		"by its age, before there were two versions": report("c1", `"fairlead.io/had-proxy": "true"`, ""),
	} {
		t.Run(name, func(t *testing.T) {
			before := one().with("report", promised)
			after := before.with("proxy", proxyText("default", source+`, "noProxy": [{"value": "new.example"}]`))
			change := onlyChange(t, compared(t, before, after, false))
			if texts(change.Comes) != "new.example" || len(change.Goes)+len(change.Fields) > 0 {
				t.Errorf("%+v", change)
			}
		})
	}
}

func TestAClusterKeepsItsFormWhenItsCorporateProxyNoLongerSaysOne(t *testing.T) {
	before := one().with("proxy", proxyText("default", source+`, "form": "Exact"`))
	if p := compared(t, before, one(), false); p.Changed {
		t.Errorf("%+v", p.Clusters)
	}
}

func TestAClusterThatHadAProxyKeepsItsSecretsWhenNothingSelectsIt(t *testing.T) {
	after := one().with("proxy", proxyText("default", source+`, "clusterSelector": {"matchLabels": {"stage": "other"}}`))
	change := onlyChange(t, compared(t, one(), after, false))
	if change.Problem.Appears == nil || change.Problem.Appears.Reason != string(resolve.ReasonNotSelected) || len(change.Costs.Secrets) > 0 {
		t.Errorf("%+v", change)
	}
}

func TestAClusterKeepsItsSecretsWhenItsCorporateProxyIsGone(t *testing.T) {
	before := one().with("site", proxyText("site", source+`, "priority": 1`))
	after := before.with("site", "")
	change := onlyChange(t, compared(t, before, after, false))
	if change.Problem.Appears == nil || change.Problem.Appears.Reason != string(resolve.ReasonProxyGone) || len(change.Costs.Secrets) > 0 {
		t.Errorf("%+v", change)
	}
	replaced := after.with("proxy", proxyText("default", source+`, "replaces": ["site"]`))
	if change := onlyChange(t, compared(t, before, replaced, false)); change.Problem.Appears != nil {
		t.Errorf("another one replaces it: %+v", change)
	}
}

func TestAnUpgradeShowsTheNewestFormToClustersThatArePinned(t *testing.T) {
	before := one().with("report", report("c1", `"fairlead.io/form": "Exact"`, ""))
	change := onlyChange(t, compared(t, before, before, true))
	if len(change.Fields) != 1 || change.Fields[0] != (plan.Field{Name: "form", Before: "Exact", After: "Portable/v3"}) || !change.Costs.ReplacesMachines {
		t.Errorf("%+v", change)
	}
	if p := compared(t, one(), one(), true); p.Changed {
		t.Errorf("a cluster with the newest form changes: %+v", p.Clusters)
	}
	fixed := before.with("proxy", proxyText("default", source+`, "form": "Exact"`))
	if p := compared(t, fixed, fixed, true); p.Changed {
		t.Errorf("a cluster whose CorporateProxy says the form changes: %+v", p.Clusters)
	}
}

func TestFactsAreThoseOfTheReport(t *testing.T) {
	cluster := strings.Replace(one()["c1"], `"controlPlaneEndpoint"`,
		`"infrastructureRef": {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "AWSCluster", "name": "c1"}, "controlPlaneEndpoint"`, 1)
	facts := report("c1", "", `"mode": "Proxied", "form": "Portable/v2", "facts": {"version": "Facts/v1", "source": "Facts/v1", "kind": "AWSCluster", "name": "c1", "values": {"vpc": ["10.9.0.0/16"]}}`)
	before := one().with("c1", cluster)
	change := onlyChange(t, compared(t, before, before.with("report", facts), false))
	if !strings.Contains(texts(change.Comes), "10.9.0.0/16") {
		t.Errorf("comes: %s", texts(change.Comes))
	}
	// What the table has today beside it is an upgrade.
	upgraded := onlyChange(t, compared(t, before.with("report", facts), before.with("report", facts), true))
	if !strings.Contains(texts(upgraded.Comes), "169.254.169.254") || len(upgraded.Goes) > 0 {
		t.Errorf("%+v", upgraded)
	}
}

const public = `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "fairlead-revision-default-%[1]d", "namespace": "fairlead-system", "labels": {"fairlead.io/revision": "%[1]d"}},
 "data": {"revision.yaml": "{proxy: default, number: %[1]d, digest: d, since: null, http: 'http://old.example:1', sourceEntries: [%[2]s], spec: {source: {valuesRef: {name: values}}}}"}}`

const valuesSource = `"source": {"valuesRef": {"name": "values"}}`

func TestAPublicHalfOfARevisionStandsInForASecret(t *testing.T) {
	live := one().with("proxy", proxyText("default", valuesSource)).
		with("r9", fmt.Sprintf(public, 9, "nine.example")).with("r10", fmt.Sprintf(public, 10, "ten.example"))
	secret := `{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "values", "namespace": "fairlead-system"},
 "stringData": {"http": "http://me:S3CRET@new.example:1", "noProxy": "ten.example,eleven.example"}}`
	p := compared(t, live, live.with("values", secret), false)
	change := onlyChange(t, p)
	if texts(change.Comes) != "eleven.example" || len(change.Goes) > 0 {
		t.Errorf("comes %s, goes %s", texts(change.Comes), texts(change.Goes))
	}
	if len(change.Fields) != 1 || change.Fields[0] != (plan.Field{Name: "http", Before: "http://old.example:1", After: "http://new.example:1"}) {
		t.Errorf("fields: %+v", change.Fields)
	}
	if text := fmt.Sprintf("%+v", p); strings.Contains(text, "S3CRET") {
		t.Errorf("the password is shown: %s", text)
	}
}

// A rollout that has not come to a cluster, or was undone there: it has what its report says.
func TestAClusterHasTheRevisionOfItsReport(t *testing.T) {
	const rollout = `, "rollout": {"waves": [{"name": "all"}]}`
	has := func(number int) string {
		return report("c1", `"fairlead.io/had-proxy": "true"`, fmt.Sprintf(`"mode": "Proxied", "form": "Portable/v2", "revision": {"proxy": "default", "number": %d, "digest": "d"}`, number))
	}
	live := one().with("proxy", proxyText("default", valuesSource+rollout)).with("report", has(9)).
		with("r9", fmt.Sprintf(public, 9, "nine.example")).with("r10", fmt.Sprintf(public, 10, "ten.example"))
	p := compared(t, live, live.with("unrelated", overrideText("c2", "")), false)
	if p.Changed || !slices.Contains(p.Notes, "CorporateProxy default: 1 of its clusters do not have its newest revision; what they get with it is not in this plan.") {
		t.Errorf("what is on its way is part of another change: %+v", p)
	}
	corrected := live.with("proxy", proxyText("default", valuesSource+rollout+`, "noProxy": [{"value": "new.example"}]`))
	if change := onlyChange(t, compared(t, live, corrected, false)); texts(change.Comes) != "new.example ten.example" || texts(change.Goes) != "nine.example" {
		t.Errorf("comes %s, goes %s", texts(change.Comes), texts(change.Goes))
	}
	for name, other := range map[string]manifests{
		"the newest":               live.with("report", has(10)),
		"one that is not kept":     live.with("report", has(7)),
		"one without spec.rollout": live.with("proxy", proxyText("default", valuesSource)),
	} {
		after := other.with("override", overrideText("c1", `"noProxy": [{"value": "own.example"}]`))
		if change := onlyChange(t, compared(t, other, after, false)); texts(change.Comes) != "own.example" || len(change.Goes) > 0 {
			t.Errorf("%s: %+v", name, change)
		}
	}
}

func TestAListThatIsNotKnownIsSaidAndNotGuessed(t *testing.T) {
	live := one().with("proxy", proxyText("default", valuesSource))
	after := live.with("proxy", proxyText("default", valuesSource+`, "noProxy": [{"value": "new.example"}]`)).
		with("values", `{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "values"}, "stringData": {"http": "http://new.example:1", "noProxy": "a.example"}}`)
	p := compared(t, live, after, false)
	if change := onlyChange(t, p); texts(change.Comes) != "new.example" || len(change.Fields) > 0 {
		t.Errorf("%+v", change)
	}
	if !slices.ContainsFunc(p.Notes, func(note string) bool { return strings.Contains(note, "Secret values are not known here") }) {
		t.Errorf("notes: %q", p.Notes)
	}
	if !p.Changed || len(p.Unknown) != 1 || !strings.Contains(p.Unknown[0], "what Secret values has before the change is not known") {
		t.Errorf("unknown: %q", p.Unknown)
	}
}

func TestAGivenSecretThatIsInvalidIsAProblemThoughNobodyKnowsTheOneBefore(t *testing.T) {
	live := one().with("proxy", proxyText("default", valuesSource))
	after := live.with("values", `{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "values"}, "stringData": {"http": "http://new.example:1", "noProxy": "http://intranet.example"}}`)
	if change := onlyChange(t, compared(t, live, after, false)); change.Problem.Appears == nil || change.Problem.Appears.Reason != "InvalidProxy" {
		t.Errorf("%+v", change)
	}
}

func TestARolloutThatTheOperatorRefusesIsSaid(t *testing.T) {
	proxy := func(rollout string) string {
		return proxyText("default", `"source": {"url": {"http": "http://proxy.example:1"}}`+rollout)
	}
	before := one().with("proxy", proxy(""))
	p := compared(t, before, before.with("proxy", proxy(`, "noProxy": [{"value": "new.example"}], "rollout": {"waves": [{"name": "all", "maxParallel": 0}]}`)), false)
	if len(p.Rollouts) != 1 || !strings.Contains(p.Rollouts[0].Invalid, "spec.rollout.waves[0] (all).maxParallel") {
		t.Errorf("%+v", p.Rollouts)
	}
}

func TestAnotherSecretForTheCredentialsIsAChangeThatIsNotLookedInto(t *testing.T) {
	with := func(name string) manifests {
		return one().with("proxy", proxyText("default", fmt.Sprintf(`"source": {"url": {"http": "http://proxy.example:3128", "credentialsRef": {"name": %q}}}`, name)))
	}
	change := onlyChange(t, compared(t, with("a"), with("b"), false))
	if len(change.Fields) != 1 || change.Fields[0] != (plan.Field{Name: "credentials", Before: "Secret a", After: "Secret b"}) {
		t.Errorf("fields: %+v", change.Fields)
	}
	if !change.Costs.Charts || !change.Costs.ReplacesMachines || len(change.Costs.Secrets) != 2 {
		t.Errorf("costs: %+v", change.Costs)
	}
}

func TestBadInputOfStatesIsRefused(t *testing.T) {
	for name, test := range map[string]struct {
		objects manifests
		want    string
	}{
		"a Cluster twice":        {one().with("again", one()["c1"]), "Cluster org/c1 is given more than once"},
		"a CorporateProxy twice": {one().with("again", one()["proxy"]), "CorporateProxy default is given more than once"},
		"an override twice":      {one().with("o1", overrideText("c1", "")).with("o2", overrideText("c1", "")), "ProxyOverride org/c1 is given more than once"},
		"a misspelled field":     {one().with("proxy", proxyText("default", source+`, "noProxies": []`)), `unknown field "noProxies"`},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := tryCompare(t, one(), test.objects, false); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
	p := compared(t, one(), one().with("o", overrideText("nobody", "")), false)
	if !slices.ContainsFunc(p.Notes, func(note string) bool { return strings.HasPrefix(note, "ProxyOverride org/nobody: ") }) {
		t.Errorf("an override of no Cluster is not named: %q", p.Notes)
	}
}

func TestWavesCountClustersByTheFirstThatSelectsThem(t *testing.T) {
	rollout := `, "rollout": {"waves": [{"name": "canary", "clusterSelector": {"matchLabels": {"stage": "canary"}}},
	 {"name": "nobody", "clusterSelector": {"matchLabels": {"stage": "none"}}}, {"name": "rest", "clusterSelector": {"matchExpressions": [{"key": "stage", "operator": "Exists"}]}}]}`
	before := one().with("proxy", proxyText("default", source+rollout)).
		with("c2", clusterText("c2", `"stage": "prod"`, "api.c2.example", "100.64.0.0/12")).with("c3", clusterText("c3", "", "api.c3.example", "100.64.0.0/12"))
	p := compared(t, before, before.with("proxy", proxyText("default", source+rollout+`, "noProxy": [{"value": "new.example"}]`)), false)
	if got, want := fmt.Sprintf("%+v", p.Rollouts), "[{Proxy:default Clusters:3 Waves:[{Name:canary Changed:1 Of:1} {Name:nobody Changed:0 Of:0} {Name:rest Changed:1 Of:1}] Without:[org/c3] Empty:[nobody] Paused:false Invalid:}]"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}
