package operator_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/operator"
	"github.com/fairlead-io/fairlead/e2e/tier"
	"github.com/fairlead-io/fairlead/e2e/tools"
	"github.com/fairlead-io/fairlead/internal/core/plan"
	"github.com/fairlead-io/fairlead/internal/core/render"
)

// planned is a fleet whose changes are planned before they are applied.
type planned struct {
	*fixture
	proxy     *v1alpha1.CorporateProxy
	overrides []*v1alpha1.ProxyOverride
	clusters  []string
	random    *rand.Rand
}

// Generated changes: what "fairlead plan" says before is what the fleet shows after, cluster by cluster, Secret by
// Secret, entry by entry.
func TestTheFleetChangesAsItWasPlanned(t *testing.T) {
	p := newPlanned(t)
	seen := p.content()
	changes := 50
	if tier.Short() {
		changes = 6
	}
	for i := range changes {
		what := fmt.Sprintf("change %d, %s", i, p.change(i))
		was := p.reports()
		said := p.plan()
		p.apply()
		p.await(what, said, seen, was)
		now := p.content()
		p.compare(what, said, seen, now)
		seen = now
		if t.Failed() {
			t.FailNow()
		}
	}
}

func newPlanned(t *testing.T) *planned {
	t.Helper()
	f := newOwnFixture(t)
	p := &planned{fixture: f, random: rand.New(rand.NewPCG(18, 50))}
	f.must(f.client.Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: operator.Namespace, Name: "account"}, StringData: map[string]string{"username": "me", "password": "secret"},
	}))
	p.proxy = f.proxy("planned", func(c *v1alpha1.CorporateProxy) {
		c.Spec.Source = v1alpha1.ProxySource{URL: &v1alpha1.ProxyURLs{
			HTTP: "http://proxy.example:3128", HTTPS: "http://proxy.example:3128", CredentialsRef: &v1alpha1.SecretReference{Name: "account"},
		}}
		c.Spec.NoProxy = []v1alpha1.NoProxyEntry{{Value: "first.example"}, {Value: "172.16.0.0/16"}}
	})
	for i := range 8 {
		name := fmt.Sprint("c", i)
		p.clusters = append(p.clusters, name)
		f.cluster(name, func(c *clusterv1.Cluster) { c.Spec.ControlPlaneEndpoint.Host = fmt.Sprintf("10.9.0.%d", i) })
		p.overrides = append(p.overrides, &v1alpha1.ProxyOverride{
			ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: name}, Spec: v1alpha1.ProxyOverrideSpec{Mode: v1alpha1.ModeProxied},
		})
		f.report(name, "Applied")
		for m := range i % 3 {
			f.machine(name, fmt.Sprintf("%s-%d", name, m), nil)
		}
	}
	p.apply()
	for i, name := range p.clusters {
		f.awaitNodes(name, int32(i%3), 0, 0, 0)
	}
	return p
}

// change changes the manifests, and says how.
func (p *planned) change(i int) string {
	spec, entry := &p.proxy.Spec, v1alpha1.NoProxyEntry{Value: fmt.Sprintf("host-%d.example", i)}
	override := p.overrides[p.random.IntN(len(p.overrides))]
	switch p.random.IntN(11) {
	case 0, 1:
		spec.NoProxy = append(spec.NoProxy, entry)
		return "an entry comes"
	case 2:
		if len(spec.NoProxy) > 1 {
			spec.NoProxy = slices.Delete(spec.NoProxy, 0, 1)
		}
		return "an entry goes"
	case 3:
		spec.NoProxy[0].Reason = fmt.Sprint("reason ", i)
		return "a reason"
	case 4:
		spec.NoProxy = append(spec.NoProxy, v1alpha1.NoProxyEntry{Value: fmt.Sprintf("10.%d.0.0/16", 20+i)})
		return "a network comes"
	case 5:
		spec.Source.URL.HTTPS = fmt.Sprintf("http://proxy-%d.example:3128", i%3)
		return "another proxy"
	case 6:
		spec.Node.Units = []string{"crio.service", "other.service"}[:i%3%2+1]
		return "units"
	case 7:
		override.Spec.NoProxy = append(override.Spec.NoProxy, entry)
		return "an entry of " + override.Name
	case 8:
		override.Spec.NoProxy, override.Spec.Exclude = nil, nil
		return "nothing of " + override.Name
	case 9:
		override.Spec.Exclude = []string{"localhost"}
		return "an exclusion of " + override.Name
	}
	spec.Delegation.NoProxy = map[string]string{"Narrow": "Forbidden"}[spec.Delegation.NoProxy]
	if spec.Delegation.NoProxy == "" {
		spec.Delegation.NoProxy = "Narrow"
	}
	return "delegation " + spec.Delegation.NoProxy
}

// manifests are what the author of the change has.
func (p *planned) manifests() []client.Object {
	kind := func(kind string) metav1.TypeMeta {
		return metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: kind}
	}
	all := []client.Object{&v1alpha1.CorporateProxy{TypeMeta: kind("CorporateProxy"), ObjectMeta: metav1.ObjectMeta{Name: p.proxy.Name}, Spec: p.proxy.Spec}}
	for _, o := range p.overrides {
		all = append(all, &v1alpha1.ProxyOverride{TypeMeta: kind("ProxyOverride"), ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Name}, Spec: o.Spec})
	}
	return all
}

func (p *planned) plan() plan.Plan {
	p.Helper()
	folder := p.TempDir()
	for i, object := range p.manifests() {
		text, err := yaml.Marshal(object)
		p.must(err)
		p.must(os.WriteFile(filepath.Join(folder, fmt.Sprint(i, ".yaml")), text, 0o600))
	}
	program, err := tools.Program(p.Context(), "fairlead")
	p.must(err)
	kubeconfig, err := p.cp.Kubeconfig(p.cp.Admin())
	p.must(err)
	command := exec.CommandContext(p.Context(), program, "plan", "-f", folder, "-o", "json", "--kubeconfig", kubeconfig)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
		p.Fatalf("fairlead plan: %v: %s", err, stderr.String())
	}
	var said plan.Plan
	p.must(json.Unmarshal(out, &said))
	if said.Changed != (err != nil) {
		p.Errorf("changed is %t, and the exit status %v", said.Changed, err)
	}
	return said
}

func (p *planned) apply() {
	p.Helper()
	for _, object := range p.manifests() {
		content, err := yaml.Marshal(object)
		p.must(err)
		p.must(p.cp.Apply(p.Context(), content))
	}
}

// content is the data of what Fairlead writes, by cluster and role.
func (p *planned) content() map[string]map[string]string {
	p.Helper()
	all := map[string]map[string]string{}
	for _, name := range p.clusters {
		values, systemd := p.secrets(name)
		all[name] = map[string]string{
			render.ValuesRole: fmt.Sprintf("%q", values.Data), render.SystemdRole: fmt.Sprintf("%q", systemd.Data),
		}
	}
	return all
}

func (p *planned) reports() map[string]*v1alpha1.ProxyReport {
	p.Helper()
	all := map[string]*v1alpha1.ProxyReport{}
	for _, name := range p.clusters {
		all[name] = &v1alpha1.ProxyReport{}
		p.must(p.client.Get(p.Context(), p.key(name), all[name]))
	}
	return all
}

// await awaits that what was planned has happened, and that the operator has seen the change.
func (p *planned) await(what string, said plan.Plan, before map[string]map[string]string, was map[string]*v1alpha1.ProxyReport) {
	p.Helper()
	p.awaitProxy(p.live(), func(c *v1alpha1.CorporateProxy) bool {
		return c.Status.ObservedGeneration == c.Generation && c.Status.Applying == nil
	})
	controlplanetest.AwaitWithin(p, patience, "what was planned, "+what, func(context.Context) (bool, error) {
		now, reports := p.content(), p.reports()
		for _, c := range said.Clusters {
			name := strings.TrimPrefix(c.Cluster, p.namespace+"/")
			ready := meta.FindStatusCondition(reports[name].Status.Conditions, v1alpha1.ConditionReady)
			reason := "Applied"
			if c.Problem.Appears != nil {
				reason = c.Problem.Appears.Reason
			}
			for _, role := range c.Costs.Secrets {
				if now[name][role] == before[name][role] {
					return false, fmt.Errorf("%s of %s is as it was", role, name)
				}
			}
			if ready.Reason != reason {
				return false, fmt.Errorf("%s is %s, not %s", name, ready.Reason, reason)
			}
			if err := p.reported(name, c, was[name].Status, reports[name].Status); err != nil {
				return false, err
			}
		}
		return true, nil
	})
}

func (p *planned) live() *v1alpha1.CorporateProxy {
	return &v1alpha1.CorporateProxy{ObjectMeta: metav1.ObjectMeta{Name: p.proxy.Name}}
}

// compare holds the plan against the Secrets of the fleet.
func (p *planned) compare(what string, said plan.Plan, before, after map[string]map[string]string) {
	p.Helper()
	plannedSecrets, changedSecrets := map[string][]string{}, map[string][]string{}
	for _, c := range said.Clusters {
		name := strings.TrimPrefix(c.Cluster, p.namespace+"/")
		if len(c.Costs.Secrets) > 0 {
			plannedSecrets[name] = slices.Sorted(slices.Values(c.Costs.Secrets))
		}
	}
	for name, roles := range after {
		for role, content := range roles {
			if content != before[name][role] {
				changedSecrets[name] = append(changedSecrets[name], role)
			}
		}
		slices.Sort(changedSecrets[name])
	}
	maps.DeleteFunc(changedSecrets, func(_ string, roles []string) bool { return len(roles) == 0 })
	if diff := cmp.Diff(plannedSecrets, changedSecrets); diff != "" {
		p.Errorf("%s: Secrets that changed (-planned +changed):\n%s", what, diff)
	}
}

// reported holds the plan against a report, which is written after the Secrets.
func (p *planned) reported(name string, c plan.Change, was, is v1alpha1.ProxyReportStatus) error {
	if c.Costs.Machines != nil && is.Nodes.Outdated != int32(*c.Costs.Machines) {
		return fmt.Errorf("%d machines of %s are outdated, planned were %d", is.Nodes.Outdated, name, *c.Costs.Machines)
	}
	if c.Problem.Appears != nil || c.Problem.Vanishes != nil {
		return nil
	}
	before, after := strings.Split(was.NoProxy.Go, ","), strings.Split(is.NoProxy.Go, ",")
	without := func(list, other []string) (rest []string) {
		for _, entry := range list {
			if !slices.Contains(other, entry) {
				rest = append(rest, entry)
			}
		}
		return rest
	}
	values := func(entries []plan.Entry) (all []string) {
		for _, e := range entries {
			all = append(all, e.Entry)
		}
		return all
	}
	sorted := func(list []string) []string { return slices.Sorted(slices.Values(list)) }
	if diff := cmp.Diff([2][]string{sorted(values(c.Comes)), sorted(values(c.Goes))}, [2][]string{sorted(without(after, before)), sorted(without(before, after))}); diff != "" {
		return fmt.Errorf("entries of %s that come, and go (-planned +seen):\n%s", name, diff)
	}
	return nil
}
