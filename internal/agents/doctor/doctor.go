// Package doctor judges the agents of reverse tunnels in manifests, or in a cluster, with what stands beside them.
package doctor

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/internal/agents/lists"
	"github.com/fairlead-io/fairlead/internal/agents/shortname"
	"github.com/fairlead-io/fairlead/internal/agents/tunnel"
	"github.com/fairlead-io/fairlead/internal/core/document"
	"github.com/fairlead-io/fairlead/internal/core/lint"
	"github.com/fairlead-io/fairlead/internal/core/proxyenv"
)

// Options are settings that pods and objects do not have.
type Options struct {
	Families    []tunnel.Family
	Settings    map[string]string // content of the Secret fairlead-proxy; nil: not known
	IdleTimeout int               // seconds after which the proxy closes an idle connection
	// Lint judges a list, for the cluster whose programs read it, if it is known.
	Lint func(lint.Input) ([]lint.Result, error)
}

// Examination is everything that has been read.
type Examination struct {
	opts      Options
	subjects  []subject
	documents []document.Document // beside them
	asked     []document.Document // in a cluster, what subjects are of
	notes     []string

	named    document.Named      // of the documents
	policies []policy            // among them
	near     map[string]near     // by namespace
	services *shortname.Services // among them
}

// subject is a pod to be judged, as a pod itself or in a workload.
type subject struct {
	object   string // for people
	template map[string]any
	of       string // the pod's name, where object is its workload
	file     string
}

// Report has all findings.
type Report struct {
	Pods           []Pod                  `json:"pods"`
	Configurations []tunnel.Configuration `json:"configurations"`
	Lists          []lint.Result          `json:"lists"` // wherever they stand
	Notes          []string               `json:"notes"` // what could not be read, and what that means
}

// Pod is the report about a pod, or about several alike.
type Pod struct {
	tunnel.Report `json:",inline"`
	Pods          []string `json:"pods,omitempty"` // of a workload in a cluster
}

// Worst returns the highest severity among findings, or "".
func (r Report) Worst() lint.Severity {
	var all []tunnel.Finding
	for _, p := range r.Pods {
		all = append(all, p.Findings...)
		for _, c := range p.Containers {
			all = append(all, c.Findings...)
		}
	}
	for _, c := range r.Configurations {
		all = append(all, c.Findings...)
	}
	for _, l := range r.Lists {
		all = append(all, l.Findings...)
	}
	return lint.Worst(all)
}

// Hubs returns the hubs that agents dial, each once.
func (r Report) Hubs() []string {
	var all []string
	for _, p := range r.Pods {
		for _, hub := range p.Hubs() {
			if !slices.Contains(all, hub) {
				all = append(all, hub)
			}
		}
	}
	return all
}

// Where the template of a pod is, by kind.
var templates = map[string][]string{"Pod": nil, "Deployment": {"spec", "template"}, "DaemonSet": {"spec", "template"}, "StatefulSet": {"spec", "template"}}

// ErrNothing is returned for manifests without anything to judge.
var ErrNothing = errors.New("no Pod, Deployment, DaemonSet or StatefulSet in it, no configuration of Open Cluster Management, and no NO_PROXY list")

// Manifests examines the pods and workloads among documents.
func Manifests(documents []document.Document, opts Options) (*Examination, error) {
	e := &Examination{opts: opts, documents: documents}
	configurations := 0
	for _, d := range documents {
		if at, ok := podTemplate(d); ok {
			template := templateOf(d, at)
			if template == nil {
				return nil, fmt.Errorf("%s: %s is missing, or no object", d.Name(), strings.Join(at, "."))
			}
			e.subjects = append(e.subjects, subject{object: d.Title(), template: template, file: d.File})
		}
		if isOCM(d, "ManagedProxyConfiguration") || isOCM(d, "AddOnDeploymentConfig") {
			configurations++
		}
	}
	if len(e.subjects)+configurations+len(e.places()) == 0 {
		return nil, ErrNothing
	}
	return e, nil
}

// templateOf returns the pod template of a workload, with the name and namespace of the workload; nil if it has none.
func templateOf(d document.Document, at []string) map[string]any {
	template, _, _ := unstructured.NestedMap(d.Object.Object, at...)
	if template == nil || at == nil {
		return template
	}
	metadata, ok := template["metadata"].(map[string]any)
	if !ok {
		metadata = map[string]any{}
		template["metadata"] = metadata
	}
	for _, field := range []string{"name", "namespace"} {
		if value, found, _ := unstructured.NestedFieldNoCopy(d.Object.Object, "metadata", field); found {
			metadata[field] = value
		}
	}
	return template
}

// podTemplate says whether the document makes pods, and where their template is.
func podTemplate(d document.Document) ([]string, bool) {
	at, ok := templates[d.Object.GetKind()]
	group := d.Object.GroupVersionKind().Group
	return at, ok && (group == "apps" || group == "" && at == nil)
}

// isOCM says whether the document is of a kind of Open Cluster Management, in any version.
func isOCM(d document.Document, kind string) bool {
	return d.Object.GetKind() == kind && strings.HasSuffix(d.Object.GroupVersionKind().Group, ".open-cluster-management.io")
}

// Judge returns the report. probes has the proxy's answers, by hub.
func (e *Examination) Judge(probes map[string]tunnel.Probe) (Report, error) {
	report := Report{Pods: []Pod{}, Configurations: []tunnel.Configuration{}}
	for _, s := range e.subjects {
		one, err := e.judgePod(s, probes)
		if err != nil {
			return Report{}, fmt.Errorf("%s: %s: %w", s.file, s.object, err)
		}
		alike := slices.IndexFunc(report.Pods, func(p Pod) bool { return s.of != "" && reflect.DeepEqual(p.Report, one) })
		if alike < 0 {
			report.Pods = append(report.Pods, Pod{Report: one})
			alike = len(report.Pods) - 1
		}
		if s.of != "" {
			report.Pods[alike].Pods = append(report.Pods[alike].Pods, s.of)
		}
	}
	report.forgiveOthers()
	report.Notes = append([]string{}, e.notes...)
	var err error
	if report.Configurations, err = e.configurations(); err != nil {
		return Report{}, err
	}
	report.Lists, err = e.lists()
	return report, err
}

// forgiveOthers makes NoAgent an Info where at least one pod has an agent: beside an agent, a chart has other
// workloads.
func (r *Report) forgiveOthers() {
	if !slices.ContainsFunc(r.Pods, func(p Pod) bool { return p.HasAgent() }) {
		return
	}
	for _, p := range r.Pods {
		for i := range p.Findings {
			if p.Findings[i].Code == tunnel.NoAgent {
				p.Findings[i].Severity = lint.Info
			}
		}
	}
}

func (e *Examination) judgePod(s subject, probes map[string]tunnel.Probe) (tunnel.Report, error) {
	pod, findings, err := tunnel.ReadPod(s.template)
	if err != nil {
		return tunnel.Report{}, err
	}
	near, err := e.beside(pod.Metadata.Namespace)
	if err != nil {
		return tunnel.Report{}, err
	}
	report := tunnel.Judge(tunnel.Input{
		Object: s.object, Pod: pod, Read: findings, Families: e.opts.Families, Objects: near.objects, Policies: near.policies,
		IdleTimeout: e.opts.IdleTimeout, Probes: probes,
	})
	if list := e.opts.Settings[proxyenv.NoProxy]; list != "" {
		if e.services == nil {
			services := shortname.Of(e.documents)
			e.services = &services
		}
		report.Findings = lint.Sorted(append(report.Findings, e.services.InPod(s.object, pod, list)...))
	}
	return report, nil
}

// configurations judges the objects of Open Cluster Management.
func (e *Examination) configurations() ([]tunnel.Configuration, error) {
	said := []tunnel.Configuration{}
	var entrypoints []tunnel.ManagedProxy
	for _, d := range e.documents {
		if !isOCM(d, "ManagedProxyConfiguration") {
			continue
		}
		m, err := tunnel.Read[tunnel.ManagedProxy](d.Object.Object)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", d.Name(), err)
		}
		entrypoints = append(entrypoints, m)
		said = append(said, m.Judge(d.Title(), e.opts.IdleTimeout))
	}
	for _, d := range e.documents {
		if !isOCM(d, "AddOnDeploymentConfig") {
			continue
		}
		a, err := tunnel.Read[tunnel.AddOnDeployment](d.Object.Object)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", d.Name(), err)
		}
		said = append(said, a.Judge(d.Title(), entrypoints))
	}
	return said, nil
}

// places returns where lists are, or should be. The proxy's URL is judged where an agent reads it.
func (e *Examination) places() []lists.Place {
	var all []lists.Place
	for _, d := range slices.Concat(e.asked, e.documents) {
		all = append(all, slices.DeleteFunc(lists.In("", d.Title(), d.Object.Object), func(p lists.Place) bool { return !p.HasList() })...)
	}
	return all
}

// lists runs lint on each list. It leaves out findings that nobody can mend, and lists without a finding.
func (e *Examination) lists() ([]lint.Result, error) {
	judged, err := lists.Judge(e.places(), e.opts.Lint)
	for i := range judged {
		judged[i].Findings = slices.DeleteFunc(judged[i].Findings, func(f lint.Finding) bool { return f.Severity == lint.Info || lists.OfURL(f) })
	}
	return slices.DeleteFunc(judged, func(l lint.Result) bool { return len(l.Findings) == 0 }), err
}
