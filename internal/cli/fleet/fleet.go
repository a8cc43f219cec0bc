// Package fleet resolves the clusters in files, as the operator resolves those of its management cluster.
package fleet

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/cabundle"
	"github.com/fairlead-io/fairlead/internal/core/document"
	"github.com/fairlead-io/fairlead/internal/core/inputs"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
)

// Fleet has the clusters and their proxies, from files.
type Fleet struct {
	Clusters  []*clusterv1.Cluster
	documents []document.Document                // beside them, and beside the CorporateProxies
	overrides map[string]*v1alpha1.ProxyOverride // by the names of Clusters
	choice    Choice
	form      resolve.Form
	warned    map[cabundle.Certificate]bool
}

// Choose returns the installation of a cluster in a namespace with these labels; a resolve.Problem with ReasonNotSelected says
// that it has none.
type Choose func(cluster *clusterv1.Cluster, namespace map[string]string) (resolve.Installation, error)

// Choice is the settings that clusters choose from, at a time.
type Choice struct {
	Of   Choose
	Now  time.Time
	ends map[string][]inputs.End // by the object of an installation

	documents []document.Document // beside the CorporateProxies
}

// New finds Clusters among the documents, and ProxyOverrides among the others. A form other than "" takes the place of
// the installation's. from is where the documents are from, for messages. An override of no Cluster, and a second one of the same, are errors.
func New(choice Choice, from string, documents, overrides []document.Document, form resolve.Form, warnings io.Writer) (*Fleet, error) {
	f := &Fleet{documents: slices.Concat(documents, choice.documents), choice: choice, form: form, warned: map[cabundle.Certificate]bool{}}
	var err error
	if f.Clusters, err = document.Clusters(documents, warnings); err != nil {
		return nil, err
	}
	if len(f.Clusters) == 0 {
		return nil, fmt.Errorf("%s: no Cluster of cluster.x-k8s.io in it", from)
	}
	if f.overrides, err = overridesIn(overrides); err != nil {
		return nil, err
	}
	if names := orphans(f.overrides, f.Clusters); len(names) > 0 { // they would silently do nothing
		o := f.overrides[names[0]]
		return nil, fmt.Errorf("ProxyOverride %s/%s: there is no Cluster of that name and namespace in the files", o.Namespace, o.Name)
	}
	return f, nil
}

// Resolve does what the operator does, but for waiting: required facts that the
// files lack are a warning.
func (f *Fleet) Resolve(cluster *clusterv1.Cluster, warnings io.Writer) (resolve.Effective, error) {
	installation, err := f.choose(cluster)
	var problem *resolve.Problem
	if errors.As(err, &problem) && problem.Reason == resolve.ReasonNotSelected {
		return resolve.Unproxied(inputs.Cluster(cluster)), nil
	}
	if err != nil {
		return resolve.Effective{}, err
	}
	if f.form != "" {
		installation.Form = f.form
	}
	in := resolve.Input{Installation: installation, Cluster: inputs.Cluster(cluster)}
	in.Override = inputs.Override(inputs.OverrideInEffect(f.overrides[nameOf(cluster)], f.choice.Now))
	if in.Facts, err = f.facts(cluster, warnings); err != nil {
		return resolve.Effective{}, err
	}
	effective, err := resolve.Resolve(in)
	if errors.As(err, &problem) && problem.Reason == resolve.ReasonEndpointUnknown {
		problem.Detail += ": Cluster API writes it; in a file, write what it will be"
	}
	return effective, err
}

func (f *Fleet) choose(cluster *clusterv1.Cluster) (resolve.Installation, error) {
	return f.choice.Of(cluster, namespaceOf(cluster.Namespace, f.documents))
}

// Proxies chooses among the CorporateProxies of documents, as the operator does at that time. If there is none, or one is
// given twice, that is an error, which names where they are from.
func Proxies(from string, documents []document.Document, now time.Time) (Choice, error) {
	choice := Choice{Now: now, ends: map[string][]inputs.End{}, documents: documents}
	proxies, err := document.OfKind[v1alpha1.CorporateProxy](documents, "CorporateProxy")
	if err != nil {
		return choice, err
	}
	if len(proxies) == 0 {
		return choice, fmt.Errorf("%s: no CorporateProxy in it", from)
	}
	if err := checkOnce(proxies); err != nil {
		return choice, fmt.Errorf("%s: %w", from, err)
	}
	for _, proxy := range proxies {
		choice.ends["CorporateProxy "+proxy.Name] = inputs.EndsOf(&proxy)
	}
	proxies = inputs.AllInEffect(proxies, now)
	objects := document.NamedOf(documents)
	get := func(ref inputs.Reference) (map[string][]byte, error) {
		data, err := objects.Operators(ref)
		if data == nil && err == nil {
			err = inputs.ErrNotGiven
		}
		return data, err
	}
	choice.Of = func(cluster *clusterv1.Cluster, namespace map[string]string) (resolve.Installation, error) {
		return inputs.Choose(proxies, cluster, namespace, get)
	}
	return choice, nil
}

// WarnOfDates says which certificates are not valid at a time, each once.
func (f *Fleet) WarnOfDates(certificates []cabundle.Certificate, now int64, warnings io.Writer) {
	for _, c := range certificates {
		validity := c.At(now)
		if (validity == cabundle.Expired || validity == cabundle.NotYetValid) && !f.warned[c] {
			fmt.Fprintf(warnings, "warning: trusted CA: %s\n", c.Says(validity))
			f.warned[c] = true
		}
	}
}

// facts returns what the provider adds, as far as the files say. Required facts
// that an infrastructure object lacks are a warning: the operator waits for them.
func (f *Fleet) facts(cluster *clusterv1.Cluster, warnings io.Writer) (resolve.Facts, error) {
	facts, ok, err := factsIn(f.documents, cluster)
	if ok && len(facts.Missing) > 0 {
		fmt.Fprintf(warnings, "warning: %s: not known yet: %s; the operator waits for it\n", facts.Object, strings.Join(facts.Missing, ", "))
	}
	facts.Missing = nil
	return facts, err
}

// factsIn returns what documents say of a cluster's provider, and whether its object is among them.
func factsIn(documents []document.Document, cluster *clusterv1.Cluster) (resolve.Facts, bool, error) {
	table, err := tableOf(documents)
	if err != nil {
		return resolve.Facts{}, false, err
	}
	facts, ok := factsOf(table, cluster, func(group, kind, namespace, name string) (map[string]any, bool) {
		return document.Find(documents, group, kind, namespace, name)
	})
	return facts, ok, nil
}
