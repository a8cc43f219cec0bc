package fleet

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/fairlead-io/fairlead/internal/core/document"
	"github.com/fairlead-io/fairlead/internal/core/inputs"
	"github.com/fairlead-io/fairlead/internal/core/lint"
	"github.com/fairlead-io/fairlead/internal/core/provider"
	"github.com/fairlead-io/fairlead/internal/core/render"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/operator/noproxy"
)

// Linted is what was found in one list.
type Linted struct {
	Cluster  string         `json:"cluster,omitempty"`
	Unit     string         `json:"unit,omitempty"`   // of systemd
	Places   []Place        `json:"places,omitempty"` // in manifests: of each list that is alike
	Findings []lint.Finding `json:"findings"`
	List     string         `json:"-"` // that was looked at; empty: none, or no proxy
}

// Place is where a list stands, or should.
type Place struct {
	File   string `json:"file,omitempty"`
	Object string `json:"object,omitempty"` // kind, namespace and name
	Field  string `json:"field"`
}

// String is for people.
func (p Place) String() string {
	of := strings.TrimSpace(p.Object + " " + p.Field)
	if p.File == "" {
		return of
	}
	return p.File + ": " + of
}

// Title says which list it is, and for which cluster; empty if it is the only one.
func (l Linted) Title() string {
	var first []string
	for _, place := range l.Places[:min(len(l.Places), 3)] {
		first = append(first, place.String())
	}
	places := strings.Join(first, ", ")
	if more := len(l.Places) - 3; more > 0 {
		places += fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(strings.Fields(strings.Join([]string{l.Unit, places, l.Cluster}, " ")), " ")
}

// Lint looks at what the operator writes for each cluster, and whether it does. now is in seconds since 1970.
func (f *Fleet) Lint(now int64, warnings io.Writer) ([]Linted, error) {
	var all []Linted
	for _, cluster := range f.Clusters {
		linted, err := f.lint(cluster, now, warnings)
		if err != nil {
			return nil, err
		}
		linted.Cluster = nameOf(cluster)
		all = append(all, linted)
	}
	return all, nil
}

func (f *Fleet) lint(cluster *clusterv1.Cluster, now int64, warnings io.Writer) (Linted, error) {
	effective, err := f.Resolve(cluster, warnings)
	resolved := err == nil
	if resolved {
		_, err = render.Secrets(effective)
	}
	findings, is := Refused(err)
	if err != nil && !is {
		return Linted{}, err
	}
	if !resolved {
		return Linted{Findings: findings}, nil
	}
	in := lint.Effective(effective, inputs.Cluster(cluster))
	in.API, in.Now = providerAddress(f.documents, cluster), now
	ends, err := f.Ends(cluster)
	if err != nil {
		return Linted{}, err
	}
	for _, end := range ends {
		in.Ends = append(in.Ends, lint.End{What: end.What, Object: end.Object, Field: end.Field, Time: end.Time.Unix(), Owner: end.Owner, Reason: end.Reason})
	}
	if effective.Mode != resolve.ModeProxied { // there is nothing else to look at
		return Linted{Findings: append(findings, lint.Ending(in)...)}, nil
	}
	return Linted{Findings: append(findings, lint.Run(in)...), List: in.Any}, nil
}

// LintList looks at a list as it stands, once for each Cluster among the documents, or once if there are none.
func LintList(in lint.Input, documents []document.Document, warnings io.Writer) ([]Linted, error) {
	clusters, err := document.Clusters(documents, warnings)
	if err != nil {
		return nil, err
	}
	if len(documents) == 0 {
		return []Linted{{Findings: lint.Run(in), List: in.Any}}, nil
	}
	hosts := map[string]bool{}
	for _, cluster := range clusters {
		if e, err := noproxy.HostEntry(cluster.Spec.ControlPlaneEndpoint.Host); err == nil {
			hosts[e.Name] = e.Kind == noproxy.Host
		}
	}
	in.Entries = slices.Clone(in.Entries)
	for i := range in.Entries {
		if e := &in.Entries[i].Entry; e.Kind == noproxy.Domain && hosts[e.Name] {
			e.Kind = noproxy.Host // nothing is below an endpoint
		}
	}
	var all []Linted
	for _, cluster := range clusters {
		plain := inputs.Cluster(cluster)
		facts, _, err := factsIn(documents, cluster)
		if err != nil {
			return nil, err
		}
		in.Cluster, in.API, in.Told = &plain, providerAddress(documents, cluster), facts.Read
		in.Omitted = lint.LeftOut(in, plain)
		all = append(all, Linted{Cluster: nameOf(cluster), Findings: lint.Run(in), List: in.Any})
	}
	return all, nil
}

func nameOf(cluster *clusterv1.Cluster) string { return cluster.Namespace + "/" + cluster.Name }

// Refused turns a resolve.Problem, which keeps a list from being written at all, into findings: one for each refused
// entry, or one for all of it. Of another error it is false.
func Refused(err error) ([]lint.Finding, bool) {
	var p *resolve.Problem
	if !errors.As(err, &p) {
		return nil, false
	}
	code := lint.Code(p.Reason)
	switch {
	case errors.Is(err, inputs.ErrTrustedCA):
		code = lint.Certificate
	case p.Reason == resolve.ReasonInvalidProxy && !strings.HasPrefix(p.Field, "spec.noProxy"):
		code = lint.ProxyURL
	}
	if len(p.Refusals) == 0 {
		return []lint.Finding{{Code: code, Severity: lint.Error, Why: p.Error()}}, true
	}
	var findings []lint.Finding
	for _, refusal := range p.Refusals {
		findings = append(findings, lint.Finding{Code: lint.Unreadable, Severity: lint.Error, Why: p.Object + ": " + refusal, Mend: "correct or remove it"})
	}
	return findings, true
}

// providerAddress is what makes the machines of a cluster, if its infrastructure object is among the documents and says so.
func providerAddress(documents []document.Document, cluster *clusterv1.Cluster) lint.ProviderAddress {
	ref := cluster.Spec.InfrastructureRef
	api, known := provider.APIOf(ref.APIGroup, ref.Kind)
	object, found := document.Find(documents, ref.APIGroup, ref.Kind, cluster.Namespace, ref.Name)
	if !known || !found {
		return lint.ProviderAddress{}
	}
	name := ref.Kind + " " + cluster.Namespace + "/" + ref.Name
	return lint.ProviderAddress{Name: api.Name, Address: api.Address(object), Object: name, Field: api.Path}
}
