package fleet

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/document"
	"github.com/fairlead-io/fairlead/internal/core/inputs"
	"github.com/fairlead-io/fairlead/internal/core/plan"
	"github.com/fairlead-io/fairlead/internal/core/provider"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
)

// Part is clusters, and what their settings come from.
type Part struct {
	// Documents are Clusters with what belongs to them: ProxyOverrides, ProxyReports, Namespaces and infrastructure
	// objects; and CorporateProxies with what they name, unless there are Values. ConfigMaps of revisions stand in for
	// Secrets that are not there.
	Documents []document.Document
	Values    *Values
}

// Values is the config repository's file.
type Values struct {
	File string
	Data []byte
}

// States reads a fleet before and after a change.
type States struct {
	Before, After []Part
	// Now and At are the times of the two: what ends between them is a change.
	Now, At time.Time
	// Upgrade: after it, every cluster has the newest form and the newest facts, unless its CorporateProxy says which.
	Upgrade  bool
	Warnings io.Writer
	Progress func(done, all int) // called for each cluster in each state; may be nil
}

// Read resolves every cluster in both states. What a cluster was promised before, it keeps. Of a Secret that is known in
// one state alone, nothing is compared but the name.
func (s States) Read() (before, after plan.State, err error) {
	was, err := readObjects(s.Before, s.Now, s.Warnings)
	if err != nil {
		return before, after, err
	}
	is, err := readObjects(s.After, s.At, s.Warnings)
	if err != nil {
		return before, after, err
	}
	unknown, sentences := unknownInOne(was.secrets(), is.secrets())
	for _, p := range slices.Concat(was.parts, is.parts) {
		p.settings.unknown = unknown
	}
	same := unchanged(was, is)
	is.earlier = was
	was.held, is.held = func(string) bool { return true }, func(proxy string) bool { return same[proxy] }
	s.count(was, is)
	if before, err = was.state(nil, false); err != nil {
		return before, after, err
	}
	after, err = is.state(&before, s.Upgrade)
	after.Unknown = sentences
	return before, after, err
}

// count has both states report what they have done.
func (s States) count(states ...*objects) {
	done, all := 0, 0
	for _, o := range states {
		for _, p := range o.parts {
			all += len(p.clusters)
		}
		o.step = func() {
			if done++; s.Progress != nil {
				s.Progress(done, all)
			}
		}
	}
}

// objects are the objects of one state.
type objects struct {
	step       func()
	now        time.Time
	parts      []*part
	reports    map[string]*v1alpha1.ProxyReport
	namespaces map[string]map[string]string
	earlier    *objects                // the state before
	held       func(proxy string) bool // whether clusters have the revision of their reports
	behind     map[string]int          // clusters that have another than the newest, by CorporateProxy
	warnings   io.Writer
}

// part is a Part, read.
type part struct {
	settings  settings
	clusters  []*clusterv1.Cluster
	overrides map[string]*v1alpha1.ProxyOverride
	documents map[string]map[string]any // infrastructure objects, by kind and name
	table     provider.Table
}

// proxies returns the CorporateProxies of all parts.
func (o *objects) proxies() iter.Seq2[settings, *v1alpha1.CorporateProxy] {
	return func(yield func(settings, *v1alpha1.CorporateProxy) bool) {
		for _, p := range o.parts {
			for i := range p.settings.proxies {
				if !yield(p.settings, &p.settings.proxies[i]) {
					return
				}
			}
		}
	}
}

func (o *objects) hasProxy(name string) bool {
	for _, proxy := range o.proxies() {
		if proxy.Name == name {
			return true
		}
	}
	return false
}

func readObjects(parts []Part, now time.Time, warnings io.Writer) (*objects, error) {
	o := &objects{now: now, reports: map[string]*v1alpha1.ProxyReport{}, namespaces: map[string]map[string]string{}, behind: map[string]int{}, warnings: warnings}
	seen := map[string]bool{}
	for _, given := range parts {
		p, err := o.read(given)
		if err != nil {
			return nil, err
		}
		for _, cluster := range p.clusters {
			name := nameOf(cluster)
			if seen[name] {
				return nil, fmt.Errorf("Cluster %s is given more than once", name) //nolint:staticcheck // Cluster is a kind
			}
			seen[name] = true
		}
		o.parts = append(o.parts, p)
	}
	return o, nil
}

func (o *objects) read(given Part) (*part, error) {
	p := &part{documents: map[string]map[string]any{}}
	var err error
	if p.clusters, err = document.Clusters(given.Documents, o.warnings); err != nil {
		return nil, err
	}
	if p.overrides, err = overridesIn(given.Documents); err != nil {
		return nil, err
	}
	for _, d := range given.Documents {
		switch gvk := d.Object.GroupVersionKind(); {
		case d.Is("ProxyReport", v1alpha1.GroupVersion.String()):
			report := &v1alpha1.ProxyReport{}
			if err := d.Fill(report); err != nil {
				return nil, err
			}
			o.reports[report.Namespace+"/"+report.Name] = report
		case d.Is("Namespace", "v1"):
			o.namespaces[d.Object.GetName()] = d.Object.GetLabels()
		default:
			p.documents[objectKey(gvk.Group, gvk.Kind, cmp.Or(d.Object.GetNamespace(), "default"), d.Object.GetName())] = d.Object.Object
		}
	}
	if p.table, err = tableOf(given.Documents); err != nil {
		return nil, err
	}
	p.settings, err = readSettings(given, o.now)
	return p, err
}

func objectKey(group, kind, namespace, name string) string {
	return group + " " + kind + " " + namespace + " " + name
}

// state resolves all clusters. before is the state that comes first, or nil.
func (o *objects) state(before *plan.State, upgrade bool) (plan.State, error) {
	var state plan.State
	past := map[string]*plan.Cluster{}
	if before != nil {
		for i := range before.Clusters {
			c := &before.Clusters[i]
			past[c.Namespace+"/"+c.Name] = c
		}
	}
	for _, p := range o.parts {
		for _, cluster := range p.clusters {
			one := clusterReader{objects: o, part: p, cluster: cluster, before: past[nameOf(cluster)], upgrade: upgrade}
			resolved, err := one.read()
			if err != nil {
				return state, err
			}
			state.Clusters = append(state.Clusters, resolved)
			o.step()
		}
		state.Rollouts = append(state.Rollouts, p.settings.rollouts()...)
		state.Notes = append(state.Notes, p.settings.notes()...)
		for _, name := range orphans(p.overrides, p.clusters) {
			state.Notes = append(state.Notes, fmt.Sprintf("ProxyOverride %s: there is no Cluster of that name and namespace.", name))
		}
	}
	if before != nil {
		for _, proxy := range slices.Sorted(maps.Keys(o.behind)) {
			state.Notes = append(state.Notes, fmt.Sprintf("CorporateProxy %s: %d of its clusters do not have its newest revision; what they get with it is not in this plan.", proxy, o.behind[proxy]))
		}
	}
	return state, nil
}

// clusterReader resolves one cluster.
type clusterReader struct {
	*objects
	*part
	cluster *clusterv1.Cluster
	before  *plan.Cluster // nil: it was not there
	upgrade bool
}

func (r clusterReader) read() (plan.Cluster, error) {
	c := plan.Cluster{Namespace: r.cluster.Namespace, Name: r.cluster.Name, Paused: paused(r.cluster)}
	report := r.reports[nameOf(r.cluster)]
	if report != nil && report.Status.Nodes != nil {
		c.Machines = &plan.Machines{Machines: int(report.Status.Nodes.Machines), MachinePools: int(report.Status.Nodes.MachinePools)}
	}
	var err error
	if c.Effective, err = r.resolve(report, &c); err != nil {
		if errors.As(err, &c.Problem) {
			return c, nil
		}
		return c, err
	}
	if c.Effective.Mode != resolve.ModeProxied { // there are no URLs to put credentials into
		c.Unread.Credentials, c.Unread.Previous = "", ""
	}
	return c, nil
}

func (r clusterReader) resolve(report *v1alpha1.ProxyReport, c *plan.Cluster) (resolve.Effective, error) {
	plain := inputs.Cluster(r.cluster)
	past := r.past(report)
	namespace := map[string]string{"kubernetes.io/metadata.name": r.cluster.Namespace} // every namespace has it
	maps.Copy(namespace, r.namespaces[r.cluster.Namespace])
	override := inputs.OverrideInEffect(r.overrides[nameOf(r.cluster)], r.now)
	chosen, err := r.settings.choose(r.cluster, namespace, r.has(report, override))
	var problem *resolve.Problem
	if errors.As(err, &problem) && problem.Reason == resolve.ReasonNotSelected {
		return resolve.Unselected(plain, past, false, problem)
	}
	if err != nil {
		return resolve.Effective{}, err
	}
	if chosen.proxy != nil && r.held(chosen.proxy.Name) {
		if has := r.settings.as(chosen, report); has != nil {
			chosen = has
			r.behind[chosen.proxy.Name]++
		}
	}
	if chosen.err != nil {
		return resolve.Effective{}, chosen.err
	}
	c.Unread = chosen.unread
	c.Wave, _ = chosen.waves.WaveOf(r.cluster.Labels) // empty: none selects it
	in := resolve.Input{Installation: chosen.installation, Cluster: plain, PinnedForm: r.form(report, past)}
	in.Override = inputs.Override(override)
	in.Facts = r.facts(report)
	return resolve.Resolve(in)
}

// past returns the earlier configurations, from the report or from the state before.
func (r clusterReader) past(report *v1alpha1.ProxyReport) resolve.Past {
	if report == nil && r.before != nil {
		mode := r.before.Effective.Mode
		return resolve.Past{Report: true, Mode: mode, HadProxy: resolve.Past{}.Note(mode)}
	}
	return inputs.Past(report)
}

// has returns the CorporateProxy that the report records, or that the cluster has in the state before.
func (r clusterReader) has(report *v1alpha1.ProxyReport, override *v1alpha1.ProxyOverride) resolve.Has {
	has := inputs.Has(report, override)
	if report == nil && r.before != nil && r.earlier.hasProxy(r.before.Effective.Proxy) {
		has.Proxy = r.before.Effective.Proxy
	}
	return has
}

func (r clusterReader) form(report *v1alpha1.ProxyReport, past resolve.Past) resolve.Form {
	switch {
	case r.upgrade:
		return resolve.DefaultForm
	case report == nil && r.before != nil:
		return r.before.Effective.Form
	}
	return inputs.PromisedForm(report, past)
}

// facts returns the facts of the report where it has them, as the operator keeps them; else what the documents say.
func (r clusterReader) facts(report *v1alpha1.ProxyReport) resolve.Facts {
	if report != nil && report.Status.Facts != nil && refersTo(r.cluster, report.Status.Facts) {
		kept := report.Status.Facts
		if object, ok := inputs.FindFactsObject(r.cluster, r.table); ok && r.upgrade && kept.Source == kept.Version {
			kept = kept.DeepCopy() // a row of the built-in table
			kept.Metadata, kept.Domains = object.Row.Metadata, object.Row.Domains
		}
		return inputs.Facts(r.cluster.Namespace, kept)
	}
	facts, _ := factsOf(r.table, r.cluster, func(group, kind, namespace, name string) (map[string]any, bool) {
		object, ok := r.documents[objectKey(group, kind, namespace, name)]
		return object, ok
	})
	facts.Missing = nil // render and lint warn of them; the operator waits
	return facts
}

func refersTo(c *clusterv1.Cluster, facts *v1alpha1.ReportedFacts) bool {
	return c.Spec.InfrastructureRef.Kind == facts.Kind && c.Spec.InfrastructureRef.Name == facts.Name ||
		c.Spec.ControlPlaneRef.Kind == facts.Kind && c.Spec.ControlPlaneRef.Name == facts.Name
}

func paused(c *clusterv1.Cluster) bool {
	_, annotated := c.Annotations[clusterv1.PausedAnnotation]
	return annotated || c.Spec.Paused != nil && *c.Spec.Paused
}
