package fleet_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/fairlead-io/fairlead/internal/cli/fleet"
	"github.com/fairlead-io/fairlead/internal/core/plan"
	"github.com/fairlead-io/fairlead/internal/core/render"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
)

// written has the output of render for every cluster, by the code of "fairlead render": the oracle.
type written struct {
	secrets map[string][]render.Secret
	entries map[string][]string
}

func writes(t *testing.T, objects manifests, last written) written {
	t.Helper()
	documents := objects.documents(t)
	choose, err := fleet.Proxies("test", documents, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	f, err := fleet.New(choose, "test", documents, documents, "", io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	w := written{map[string][]render.Secret{}, map[string][]string{}}
	for _, cluster := range f.Clusters {
		name := cluster.Namespace + "/" + cluster.Name
		secrets, entries, err := renders(f, cluster)
		_, ok := last.secrets[name]
		var problem *resolve.Problem
		switch {
		case err == nil && (secrets != nil || !ok):
			w.secrets[name], w.entries[name] = secrets, entries
		case err != nil && !errors.As(err, &problem):
			t.Fatal(err)
		case ok: // a problem, or nothing selects it any more: what is there stays
			w.secrets[name], w.entries[name] = last.secrets[name], last.entries[name]
		}
	}
	return w
}

// renders returns nil for a cluster that nothing selects.
func renders(f *fleet.Fleet, cluster *clusterv1.Cluster) ([]render.Secret, []string, error) {
	e, err := f.Resolve(cluster, io.Discard)
	if err != nil || e.Mode == resolve.ModeUnproxied {
		return nil, nil, err
	}
	secrets, err := render.Secrets(e)
	var entries []string
	for _, item := range e.Entries {
		entries = append(entries, item.Entry.String())
	}
	return secrets, entries, err
}

func sameSecrets(a, b []render.Secret) bool {
	return slices.EqualFunc(a, b, func(a, b render.Secret) bool { return maps.EqualFunc(a.Data, b.Data, bytes.Equal) })
}

func subtract(list, other []string) string {
	rest := slices.DeleteFunc(slices.Clone(list), func(e string) bool { return slices.Contains(other, e) })
	slices.Sort(rest)
	return strings.Join(rest, " ")
}

// randomChange changes one thing of a fleet.
func randomChange(r *rand.Rand, before manifests, clusters int) (manifests, string) {
	name := fmt.Sprintf("c%02d", r.IntN(clusters))
	stage := []string{`"stage": "canary"`, `"stage": "prod"`, ""}[r.IntN(3)]
	value := fmt.Sprintf("h%d.example", r.IntN(1000))
	network := fmt.Sprintf("10.%d.0.0/16", r.IntN(250))
	specs := []string{
		source + `, "form": "Portable/v2", "noProxy": [{"value": "` + value + `"}, {"value": "` + network + `"}]`,
		source + `, "form": "Portable/v1", "noProxy": [{"value": ".` + value + `"}]`,
		source + `, "form": "Exact", "noProxy": [{"value": "one.example"}, {"value": "two.example"}]`,
		`"form": "Portable/v2", "source": {"url": {"https": "http://other.example:3128"}}, "noProxy": [{"value": "one.example"}]`,
		source + `, "form": "Portable/v2", "noProxy": [{"value": "one.example"}], "node": {"units": ["crio.service"], "files": ["EtcEnvironment"]}`,
		source + `, "form": "Portable/v2", "noProxy": [{"value": "one.example"}], "node": {"files": ["StaticPods"], "staticPods": "Set"}`,
		source + `, "form": "Portable/v2", "noProxy": [{"value": "one.example"}], "node": {"delivery": "Relay"}`,
		source + `, "form": "Portable/v2", "noProxy": [{"value": "10.*"}]`, // refused
		source + `, "form": "Portable/v2", "noProxy": [{"value": "two.example"}, {"value": "one.example"}]`,
		source + `, "form": "Portable/v2", "priority": 10, "clusterSelector": {"matchLabels": {"stage": "canary"}}`,
	}
	overrides := []string{
		`"noProxy": [{"value": "` + value + `"}]`, `"exclude": ["svc"]`, `"mode": "Direct"`, `"noProxy": [{"value": "com"}]`, `"exclude": ["nowhere.example"]`,
	}
	switch kind := r.IntN(6); kind {
	case 0, 1:
		proxy := []string{"default", "second"}[r.IntN(2)]
		return before.with("proxy "+proxy, proxyText(proxy, specs[r.IntN(len(specs))]+`, "delegation": {"direct": "Allowed"}`)), "CorporateProxy " + proxy
	case 2:
		return before.with("override "+name, overrideText(name, overrides[r.IntN(len(overrides))])), "override of " + name
	case 3:
		return before.with("override "+name, ""), "no override of " + name
	case 4:
		endpoint := []string{"api." + value, ""}[r.IntN(2)]
		return before.with(name, clusterText(name, stage, endpoint, network)), "Cluster " + name
	default:
		added := fmt.Sprintf("d%02d", r.IntN(clusters))
		return before.with(added, clusterText(added, stage, "api."+added+".example", network)), "new Cluster " + added
	}
}

func TestThePlanIsWhatRenderThenWritesForFiftyGeneratedChanges(t *testing.T) {
	const clusters, changes = 20, 50
	r := rand.New(rand.NewPCG(18, 6))
	before := manifests{
		"proxy default": proxyText("default", source+`, "form": "Portable/v2", "delegation": {"direct": "Allowed"}`),
		"proxy second":  proxyText("second", source+`, "form": "Exact", "priority": 5, "clusterSelector": {"matchLabels": {"stage": "prod"}}, "delegation": {"direct": "Allowed"}`),
	}
	for i := range clusters {
		name := fmt.Sprintf("c%02d", i)
		before = before.with(name, clusterText(name, []string{`"stage": "canary"`, `"stage": "prod"`}[i%2], "api."+name+".example", "100.64.0.0/12"))
	}
	changed := 0
	for n := range changes {
		after, what := randomChange(r, before, clusters)
		was := writes(t, before, written{})
		is := writes(t, after, was)
		p := compared(t, before, after, false)
		planned := map[string]plan.Change{}
		for _, c := range p.Clusters {
			planned[c.Cluster] = c
		}
		for _, name := range slices.Sorted(maps.Keys(is.secrets)) {
			differs := !sameSecrets(was.secrets[name], is.secrets[name])
			c := planned[name]
			if differs != (len(c.Costs.Secrets) > 0) {
				t.Errorf("change %d, %s: %s: Secrets differ: %t; planned: %+v", n, what, name, differs, c)
			}
			if !differs {
				continue
			}
			changed++
			comes, goes := subtract(is.entries[name], was.entries[name]), subtract(was.entries[name], is.entries[name])
			if c.Problem.Vanishes == nil && (texts(c.Comes) != comes || texts(c.Goes) != goes) {
				t.Errorf("change %d, %s: %s: comes %s, want %s; goes %s, want %s", n, what, name, texts(c.Comes), comes, texts(c.Goes), goes)
			}
		}
		if t.Failed() {
			return
		}
		if p.Summary.Withheld < clusters/2 { // a list that is refused would hide what comes next
			before = after
		}
	}
	if changed < changes {
		t.Errorf("only %d Secrets changed: the changes are too small", changed)
	}
}
