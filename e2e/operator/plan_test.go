package operator_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/internal/core/plan"
)

// planned is a fleet whose changes are planned before they are applied: cluster number i has i machines.
type planned struct {
	*fixture
	proxy     *v1alpha1.CorporateProxy
	overrides map[string]v1alpha1.ProxyOverrideSpec
	clusters  []string
}

// "fairlead plan" predicts the changes of the fleet: Secret by Secret, machines, and problems.
func TestTheFleetChangesAsItWasPlanned(t *testing.T) {
	p := newPlanned(t)
	seen := p.content(p.clusters)
	for _, change := range []struct {
		what    string
		do      func(*v1alpha1.CorporateProxySpec)
		secrets int    // that change
		problem string // that appears, at c1
	}{
		{"an entry comes", func(s *v1alpha1.CorporateProxySpec) {
			s.NoProxy = append(s.NoProxy, v1alpha1.NoProxyEntry{Value: "comes.example"})
		}, 6, ""},
		{"another proxy", func(s *v1alpha1.CorporateProxySpec) {
			s.Source.URL.HTTPS = "http://other.example:3128"
		}, 6, ""},
		{"a unit", func(s *v1alpha1.CorporateProxySpec) { s.Node.Units = []string{"crio.service"} }, 3, ""},
		{"a delegation goes", func(s *v1alpha1.CorporateProxySpec) { s.Delegation.NoProxy = "Forbidden" }, 0, "NotDelegated"},
	} {
		change.do(&p.proxy.Spec)
		said := p.plan()
		p.apply()
		p.await(change.what, said, seen)
		now := p.content(p.clusters)
		p.compare(change.what, said, seen, now, change.secrets)
		seen = now
		for _, c := range said.Clusters {
			appears := c.Problem.Appears != nil && c.Problem.Appears.Reason == change.problem
			if wanted := change.problem != "" && c.Cluster == p.namespace+"/c1"; appears != wanted {
				t.Errorf("%s: of %s it says the problem %+v", change.what, c.Cluster, c.Problem.Appears)
			}
		}
	}
}

func newPlanned(t *testing.T) *planned {
	t.Helper()
	f := newOwnFixture(t)
	p := &planned{fixture: f, overrides: map[string]v1alpha1.ProxyOverrideSpec{
		"c0": {Mode: v1alpha1.ModeProxied},
		"c1": {Mode: v1alpha1.ModeProxied, NoProxy: []v1alpha1.NoProxyEntry{{Value: "own.example"}}},
		"c2": {Mode: v1alpha1.ModeProxied},
	}}
	f.source("account", map[string]string{"username": "me", "password": "secret"})
	p.proxy = f.proxy("planned", func(c *v1alpha1.CorporateProxy) {
		c.Spec.Source = v1alpha1.ProxySource{URL: &v1alpha1.ProxyURLs{
			HTTP: "http://proxy.example:3128", HTTPS: "http://proxy.example:3128", CredentialsRef: &v1alpha1.SecretReference{Name: "account"},
		}}
		c.Spec.NoProxy = []v1alpha1.NoProxyEntry{{Value: "first.example"}, {Value: "172.16.0.0/16"}}
	})
	for i := range 3 {
		name := fmt.Sprint("c", i)
		p.clusters = append(p.clusters, name)
		f.cluster(name)
		f.report(name, "Applied")
	}
	p.apply()
	f.awaitReport("c1", "its entry", func(r *v1alpha1.ProxyReport) bool { return strings.Contains(r.Status.NoProxy.Go, "own.example") })
	f.nextSecondOf(metav1.Now().Rfc3339Copy()) // or the machines of c1 may be older than its entry
	for i, name := range p.clusters {
		for m := range i {
			f.machine(name, fmt.Sprintf("%s-%d", name, m), nil)
		}
		f.awaitNodes(name, int32(i), 0, 0, 0)
	}
	return p
}

// manifests returns the manifests of the change's author.
func (p *planned) manifests() (texts [][]byte) {
	p.Helper()
	kind := func(kind string) metav1.TypeMeta {
		return metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: kind}
	}
	all := []client.Object{&v1alpha1.CorporateProxy{TypeMeta: kind("CorporateProxy"), ObjectMeta: metav1.ObjectMeta{Name: p.proxy.Name}, Spec: p.proxy.Spec}}
	for name, spec := range p.overrides {
		all = append(all, &v1alpha1.ProxyOverride{TypeMeta: kind("ProxyOverride"), ObjectMeta: p.named(name), Spec: spec})
	}
	for _, object := range all {
		text, err := yaml.Marshal(object)
		p.must(err)
		texts = append(texts, text)
	}
	return texts
}

func (p *planned) plan() plan.Plan {
	p.Helper()
	folder := p.TempDir()
	for i, text := range p.manifests() {
		p.must(os.WriteFile(filepath.Join(folder, fmt.Sprint(i, ".yaml")), text, 0o600))
	}
	status, out, problem := p.fairlead(p.cp.Admin(), "plan", "-f", folder, "-o", "json")
	var said plan.Plan
	if err := json.Unmarshal([]byte(out), &said); err != nil {
		p.Fatalf("fairlead plan: status %d: %v: %s", status, err, problem)
	}
	if status > 1 || said.Changed != (status == 1) {
		p.Errorf("changed is %t, and the exit status %d: %s", said.Changed, status, problem)
	}
	return said
}

func (p *planned) apply() {
	p.Helper()
	p.must(p.cp.Apply(p.Context(), p.manifests()...))
}

// await waits until the planned changes have happened, and until the operator has seen the change.
func (p *planned) await(what string, said plan.Plan, before map[string]string) {
	p.Helper()
	proxy := &v1alpha1.CorporateProxy{ObjectMeta: metav1.ObjectMeta{Name: p.proxy.Name}}
	p.awaitProxy(proxy, "the change is applied", func(c *v1alpha1.CorporateProxy) bool {
		return c.Status.ObservedGeneration == c.Generation && c.Status.Applying == nil
	})
	for _, c := range said.Clusters {
		name, reason := strings.TrimPrefix(c.Cluster, p.namespace+"/"), "Applied"
		if c.Problem.Appears != nil {
			reason = c.Problem.Appears.Reason
		}
		report := p.report(name, reason)
		controlplanetest.AwaitWithin(p, patience, "what was planned of "+name+", "+what, func(ctx context.Context) (bool, error) {
			now := p.content(p.clusters)
			for _, role := range c.Costs.Secrets {
				if now[name+" "+role] == before[name+" "+role] {
					return false, fmt.Errorf("%s is as it was", role)
				}
			}
			err := p.client.Get(ctx, p.key(name), report)
			return controlplanetest.Holds(err == nil && (c.Costs.Machines == nil || report.Status.Nodes.Outdated == int32(*c.Costs.Machines)),
				"%d machines are outdated, planned is %+v (%v)", report.Status.Nodes.Outdated, c.Costs, err)
		})
	}
}

// compare holds the plan against the Secrets of the fleet, of which so many are to change.
func (p *planned) compare(what string, said plan.Plan, before, after map[string]string, want int) {
	p.Helper()
	var planned, changed []string
	for _, c := range said.Clusters {
		for _, role := range c.Costs.Secrets {
			planned = append(planned, strings.TrimPrefix(c.Cluster, p.namespace+"/")+" "+role)
		}
	}
	for secret, content := range after {
		if content != before[secret] {
			changed = append(changed, secret)
		}
	}
	slices.Sort(planned)
	slices.Sort(changed)
	if !slices.Equal(planned, changed) || len(changed) != want {
		p.Errorf("%s: the Secrets %q change, planned are %q; want %d", what, changed, planned, want)
	}
}
