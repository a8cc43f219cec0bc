package fleet

import (
	"errors"
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
	"github.com/fairlead-io/fairlead/noproxy"
)

// Lint looks at what the operator writes for each cluster, and whether it does. now is in seconds since 1970.
func (f *Fleet) Lint(now int64, warnings io.Writer) ([]lint.Result, error) {
	var all []lint.Result
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

func (f *Fleet) lint(cluster *clusterv1.Cluster, now int64, warnings io.Writer) (lint.Result, error) {
	effective, err := f.Resolve(cluster, warnings)
	resolved := err == nil
	if resolved {
		_, err = render.Secrets(effective)
	}
	findings, ok := Refused(err)
	if err != nil && !ok {
		return lint.Result{}, err
	}
	if !resolved {
		return lint.Result{Findings: findings}, nil
	}
	in := lint.Effective(effective, inputs.Cluster(cluster))
	in.API, in.Now = providerAddress(f.documents, cluster), now
	ends, err := f.Ends(cluster)
	if err != nil {
		return lint.Result{}, err
	}
	for _, end := range ends {
		in.Ends = append(in.Ends, lint.End{What: end.What, Object: end.Object, Field: end.Field, Time: end.Time.Unix(), Owner: end.Owner, Reason: end.Reason})
	}
	if effective.Mode != resolve.ModeProxied { // there is nothing else to look at
		return lint.Result{Findings: append(findings, lint.Ending(in)...)}, nil
	}
	return lint.Result{Findings: append(findings, lint.Run(in)...), List: in.Any}, nil
}

// LintList looks at a list as it stands, once for each Cluster among the documents, or once if there are none.
func LintList(in lint.Input, documents []document.Document, warnings io.Writer) ([]lint.Result, error) {
	clusters, err := document.Clusters(documents, warnings)
	if err != nil {
		return nil, err
	}
	if len(documents) == 0 {
		return []lint.Result{{Findings: lint.Run(in), List: in.Any}}, nil
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
	var all []lint.Result
	for _, cluster := range clusters {
		plain := inputs.Cluster(cluster)
		facts, _, err := factsIn(documents, cluster)
		if err != nil {
			return nil, err
		}
		in.Cluster, in.API, in.Told = &plain, providerAddress(documents, cluster), facts.Read
		in.Omitted = lint.LeftOut(in, plain)
		all = append(all, lint.Result{Cluster: nameOf(cluster), Findings: lint.Run(in), List: in.Any})
	}
	return all, nil
}

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

// providerAddress returns the address of the API that makes the machines of a cluster, if its infrastructure object has it.
func providerAddress(documents []document.Document, cluster *clusterv1.Cluster) lint.ProviderAddress {
	ref := cluster.Spec.InfrastructureRef
	api, ok := provider.APIOf(ref.APIGroup, ref.Kind)
	if !ok {
		return lint.ProviderAddress{}
	}
	object, ok := document.Find(documents, ref.APIGroup, ref.Kind, cluster.Namespace, ref.Name)
	if !ok {
		return lint.ProviderAddress{}
	}
	name := ref.Kind + " " + cluster.Namespace + "/" + ref.Name
	return lint.ProviderAddress{Name: api.Name, Address: api.Address(object), Object: name, Field: api.Path}
}
