package plan_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/core/inputs"
	"github.com/fairlead-io/fairlead/internal/core/plan"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
)

// values are the values of a cluster's installation.
const values = `proxy: {http: "http://me:S3CRET@proxy.example:3128", https: "http://me:S3CRET@proxy.example:3128", noProxy: [%s]}`

// cluster resolves a cluster of this name with entries; each of the functions changes what it is made from.
func cluster(t testing.TB, name, entries string, change ...func(*resolve.Input)) plan.Cluster {
	t.Helper()
	installation, err := inputs.Values("values.yaml", fmt.Appendf(nil, values, entries))
	if err != nil {
		t.Fatal(err)
	}
	in := resolve.Input{Installation: installation, Cluster: resolve.Cluster{
		Namespace: "org", Name: name, ServiceCIDRs: []string{"172.31.0.0/16"}, PodCIDRs: []string{"100.64.0.0/12"}, EndpointHost: name + ".example",
	}}
	in.Installation.Delegation = resolve.Delegation{NoProxy: resolve.GrantAny, Direct: true}
	for _, f := range change {
		f(&in)
	}
	effective, err := resolve.Resolve(in)
	if err != nil {
		t.Fatal(err)
	}
	return plan.Cluster{Namespace: "org", Name: name, Effective: effective, Machines: &plan.Machines{Machines: 3, MachinePools: 1}}
}

func stateOf(clusters ...plan.Cluster) plan.State { return plan.State{Clusters: clusters} }

func compare(t testing.TB, before, after plan.State) plan.Plan {
	t.Helper()
	p, err := plan.Compare(before, after, plan.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func withheld(name string) plan.Cluster {
	return plan.Cluster{Namespace: "org", Name: name, Problem: resolve.NewProblem(resolve.ReasonEndpointUnknown, "Cluster org/"+name, "spec", "not known yet")}
}

func paused(c plan.Cluster) plan.Cluster {
	c.Paused = true
	return c
}

func unread(c plan.Cluster, u plan.Unread) plan.Cluster {
	c.Unread = u
	return c
}

func relay(in *resolve.Input) { in.Installation.Node.Delivery = resolve.DeliveryRelay }
func crio(in *resolve.Input)  { in.Installation.Node.Units = []string{"crio.service"} }

func TestWhatAChangeOfOneClusterCosts(t *testing.T) {
	all := []string{"cluster-values", "systemd-proxy"}
	for name, test := range map[string]struct {
		before, after plan.State
		want          *plan.Costs // nil: no change
	}{
		"nothing":                          {stateOf(cluster(t, "c", "a.example")), stateOf(cluster(t, "c", "a.example")), nil},
		"another order in a portable form": {stateOf(cluster(t, "c", "a.example, b.example")), stateOf(cluster(t, "c", "b.example, a.example")), nil},
		"an entry":                         {stateOf(cluster(t, "c", "a.example")), stateOf(cluster(t, "c", "a.example, b.example")), &plan.Costs{Secrets: all, Charts: true, ReplacesMachines: true}},
		"a drop-in that no machine of now has": {
			stateOf(cluster(t, "c", "")), stateOf(cluster(t, "c", "", crio)), &plan.Costs{Secrets: all[1:]},
		},
		"a file of the relay's": {stateOf(cluster(t, "c", "", relay)), stateOf(cluster(t, "c", "", relay, crio)), &plan.Costs{Secrets: all[1:]}},
		"a new cluster":         {stateOf(), stateOf(cluster(t, "c", "a.example")), &plan.Costs{Secrets: all}},
		"a cluster that goes":   {stateOf(cluster(t, "c", "a.example")), stateOf(), &plan.Costs{Secrets: []string{}}},
		"a paused cluster":      {stateOf(cluster(t, "c", "")), stateOf(paused(cluster(t, "c", "b.example"))), &plan.Costs{Secrets: []string{}}},
		"a problem that appears": {
			stateOf(cluster(t, "c", "")), stateOf(withheld("c")), &plan.Costs{Secrets: []string{}},
		},
		"a problem that stays":    {stateOf(withheld("c")), stateOf(withheld("c")), nil},
		"a problem that vanishes": {stateOf(withheld("c")), stateOf(cluster(t, "c", "")), &plan.Costs{Secrets: all, Charts: true, ReplacesMachines: true}},
		"other credentials": {
			stateOf(unread(cluster(t, "c", ""), plan.Unread{Credentials: "Secret a"})), stateOf(unread(cluster(t, "c", ""), plan.Unread{Credentials: "Secret b"})),
			&plan.Costs{Secrets: all, Charts: true, ReplacesMachines: true},
		},
		"other credentials, with relays on machines": {
			stateOf(unread(cluster(t, "c", "", relay), plan.Unread{Credentials: "Secret a"})), stateOf(unread(cluster(t, "c", "", relay), plan.Unread{Credentials: "Secret b"})),
			&plan.Costs{Secrets: all, Charts: true},
		},
		"other certificates, which are not seen": {
			stateOf(unread(cluster(t, "c", ""), plan.Unread{TrustedCA: "Secret a"})), stateOf(unread(cluster(t, "c", ""), plan.Unread{TrustedCA: "Secret b"})),
			&plan.Costs{Secrets: all[1:], ReplacesMachines: true},
		},
		"a longer password": { // nobody compares it
			stateOf(cluster(t, "c", "")), stateOf(cluster(t, "c", "", func(in *resolve.Input) {
				longer, err := in.Installation.HTTP.WithoutCredentials().WithCredentials("me", "S3CRET2")
				if err != nil {
					t.Fatal(err)
				}
				in.Installation.HTTP = longer
			})), nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := compare(t, test.before, test.after)
			if test.want == nil {
				if p.Changed || len(p.Clusters) > 0 {
					t.Fatalf("a change: %+v", p.Clusters)
				}
				return
			}
			if len(p.Clusters) != 1 {
				t.Fatalf("changes: %+v", p.Clusters)
			}
			got := p.Clusters[0].Costs
			if counted := got.Machines != nil; counted != got.ReplacesMachines || counted && (*got.Machines != 3 || *got.MachinePools != 1) {
				t.Errorf("machines are counted: %+v", got)
			}
			if !slices.Equal(got.Secrets, test.want.Secrets) || got.Charts != test.want.Charts || got.ReplacesMachines != test.want.ReplacesMachines {
				t.Errorf("costs %+v, want %+v", got, test.want)
			}
		})
	}
}

func TestSettingsThatChangeAreNamed(t *testing.T) {
	set := func(f func(*resolve.Input)) plan.State { return stateOf(cluster(t, "c", "", f)) }
	for name, test := range map[string]struct {
		after plan.State
		want  []plan.Field
	}{
		"mode": {set(func(in *resolve.Input) { in.Override.Direct = true }), []plan.Field{
			{Name: "mode", Before: "Proxied", After: "Direct"},
			{Name: "http", Before: "http://proxy.example:3128"},
			{Name: "https", Before: "http://proxy.example:3128"},
		}},
		"form":      {set(func(in *resolve.Input) { in.Installation.Form = resolve.FormPortable }), []plan.Field{{Name: "form", Before: "Portable/v3", After: "Portable/v1"}}},
		"proxy":     {set(func(in *resolve.Input) { in.Installation.Name = "other" }), []plan.Field{{Name: "proxy", Before: "values.yaml", After: "other"}}},
		"configMap": {set(func(in *resolve.Input) { in.Installation.ConfigMap = true }), []plan.Field{{Name: "configMap", After: "written"}}},
		"node keys": {set(crio), []plan.Field{{Name: "key crioProxy", After: "written"}}},
	} {
		t.Run(name, func(t *testing.T) {
			p := compare(t, stateOf(cluster(t, "c", "")), test.after)
			if len(p.Clusters) != 1 || !slices.Equal(p.Clusters[0].Fields, test.want) {
				t.Errorf("%+v, want %+v", p.Clusters, test.want)
			}
		})
	}
}

func TestClustersThatChangeAlikeAreOneGroup(t *testing.T) {
	var before, after plan.State
	for i := range 40 {
		name := fmt.Sprintf("c%02d", i)
		entries := "a.example, b.example"
		if i%10 == 0 {
			entries = "a.example, c.example"
		}
		before.Clusters = append(before.Clusters, cluster(t, name, "a.example"))
		after.Clusters = append(after.Clusters, cluster(t, name, entries))
	}
	p := compare(t, before, after)
	if len(p.Groups) != 2 || len(p.Groups[0].Clusters) != 36 || len(p.Groups[1].Clusters) != 4 {
		t.Fatalf("groups: %+v", p.Groups)
	}
	if g := p.Groups[0]; len(g.Comes) != 1 || g.Comes[0] != (plan.Entry{Entry: "b.example", Layer: "Installation", Object: "values.yaml", Field: "proxy.noProxy[1]"}) || g.Cost.Machines != 36*3 {
		t.Errorf("group: %+v", g)
	}
	for _, c := range p.Clusters {
		if !slices.Contains(p.Groups[c.Group-1].Clusters, c.Cluster) {
			t.Errorf("%s is not in its group %d", c.Cluster, c.Group)
		}
	}
}

func TestWhoDecidesDifferentlyIsAskedAboutWhatComesAndGoes(t *testing.T) {
	for name, test := range map[string]struct{ before, after, want string }{
		"a name":             {"a.example", "a.example, new.example", "any https://new.example/ proxy->direct 34/34"},
		"names below it":     {"", "new.example", "any https://host.new.example/ proxy->direct 34/34"},
		"a network":          {"10.30.0.0/16", "", "any https://10.30.0.20/ direct->proxy 23/34"},
		"a network, for Go":  {"10.30.0.0/16", "", "go https://10.30.0.20/ direct->proxy 1/1"},
		"a single address":   {"", "192.0.2.7", "any https://192.0.2.7/ proxy->direct 34/34"},
		"an entry of a port": {"", "new.example:8443", "go https://new.example:8443/ proxy->direct 1/1"},
	} {
		t.Run(name, func(t *testing.T) {
			p := compare(t, stateOf(cluster(t, "c", test.before)), stateOf(cluster(t, "c", test.after)))
			var got []string
			for _, d := range p.Groups[0].Decisions {
				got = append(got, fmt.Sprintf("%s %s %s->%s %d/%d", d.Audience, d.URL, d.Before, d.After, len(d.Clients), d.Of))
			}
			if !slices.Contains(got, test.want) {
				t.Errorf("%q, want %q among them", got, test.want)
			}
		})
	}
}

// Wider entries cover what goes: nobody decides differently.
func TestAnEntryThatAnotherCoversChangesNoDecision(t *testing.T) {
	p := compare(t, stateOf(cluster(t, "c", "corp.example, web.corp.example")), stateOf(cluster(t, "c", "corp.example")))
	if len(p.Clusters) != 1 || len(p.Groups[0].Decisions) != 0 {
		t.Errorf("%+v", p.Groups)
	}
}

func TestAnotherProxyIsNamedInDecisions(t *testing.T) {
	p := compare(t, stateOf(cluster(t, "c", "")), stateOf(cluster(t, "c", "", func(in *resolve.Input) {
		other, err := inputs.Values("values.yaml", []byte(`proxy: {http: "http://other.example:3128", https: "http://other.example:3128"}`))
		if err != nil {
			t.Fatal(err)
		}
		in.Installation.HTTP, in.Installation.HTTPS = other.HTTP, other.HTTPS
	})))
	for _, d := range p.Groups[0].Decisions {
		if d.URL == "https://example.com/" && d.Before == "proxy proxy.example:3128" && d.After == "proxy other.example:3128" && len(d.Clients) > 20 {
			return
		}
	}
	t.Errorf("%+v", p.Groups[0].Decisions)
}

func TestTheDigestIsThatOfTheChangeAlone(t *testing.T) {
	a := compare(t, stateOf(cluster(t, "c", ""), cluster(t, "d", "")), stateOf(cluster(t, "c", "new.example"), cluster(t, "d", "new.example")))
	again := compare(t, stateOf(cluster(t, "d", ""), cluster(t, "c", "")), stateOf(cluster(t, "d", "new.example"), cluster(t, "c", "new.example")))
	other := compare(t, stateOf(cluster(t, "c", ""), cluster(t, "d", "")), stateOf(cluster(t, "c", "other.example"), cluster(t, "d", "other.example")))
	if a.Digest != again.Digest || a.Digest == other.Digest || len(a.Digest) != 64 {
		t.Errorf("digests %s, %s, %s", a.Digest, again.Digest, other.Digest)
	}
	text, err := json.Marshal(a)
	if err != nil || strings.Contains(string(text), "S3CRET") || strings.Contains(string(text), "null") {
		t.Errorf("%v: %s", err, text)
	}
}

func TestExpectationsAreAskedOfEveryNewList(t *testing.T) {
	rows := `[{"client": "go", "url": "https://new.example/", "expect": "direct"},
 {"client": "go", "url": "https://10.30.0.1/", "expect": "direct"}]`
	after := stateOf(cluster(t, "c", "new.example"), cluster(t, "d", "new.example, 10.30.0.0/16"), withheld("e"))
	p, err := plan.Compare(after, after, plan.Options{Checks: []plan.Check{{File: "must.json", Data: []byte(rows)}}})
	if err != nil {
		t.Fatal(err)
	}
	e := p.Expectations
	if p.Changed || e.Clusters != 2 || e.Failed != 1 || e.Failures[0].Row != 2 || !slices.Equal(e.Failures[0].Clusters, []string{"org/c"}) {
		t.Errorf("%+v", e)
	}
	if _, err := plan.Compare(after, after, plan.Options{Checks: []plan.Check{{File: "must.json", Data: []byte(`{}`)}}}); err == nil || !strings.HasPrefix(err.Error(), "must.json: ") {
		t.Errorf("error %v", err)
	}
}
