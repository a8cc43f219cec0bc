// Package fleet resolves the clusters that stand in files, as the operator does those of its management cluster.
package fleet

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/cabundle"
	"github.com/fairlead-io/fairlead/internal/core/document"
	"github.com/fairlead-io/fairlead/internal/core/inputs"
	"github.com/fairlead-io/fairlead/internal/core/provider"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
)

// Fleet is what files say of clusters and their proxies.
type Fleet struct {
	Clusters  []*clusterv1.Cluster
	documents []document.Document // beside them
	overrides []v1alpha1.ProxyOverride
	choose    Choose
	form      resolve.Form
	warned    map[cabundle.Certificate]bool
}

// Choose returns the installation of a cluster; a resolve.Problem with ReasonNotSelected says that it has none.
type Choose func(*clusterv1.Cluster) (resolve.Installation, error)

// New finds Clusters among the documents, and ProxyOverrides among the others. A form other than "" takes the place of
// the installation's. from is where the documents are from, for messages. An override of no Cluster, and a second one of the same, are errors.
func New(choose Choose, from string, documents, overrides []document.Document, form resolve.Form, warnings io.Writer) (*Fleet, error) {
	f := &Fleet{documents: documents, choose: choose, form: form, warned: map[cabundle.Certificate]bool{}}
	var err error
	if f.Clusters, err = document.Clusters(documents, warnings); err != nil {
		return nil, err
	}
	if len(f.Clusters) == 0 {
		return nil, fmt.Errorf("%s: no Cluster of cluster.x-k8s.io in it", from)
	}
	if f.overrides, err = document.OfKind[v1alpha1.ProxyOverride](overrides, "ProxyOverride"); err != nil {
		return nil, err
	}
	return f, f.checkOverrides()
}

// checkOverrides refuses an override that would silently do nothing, or in the place of another.
func (f *Fleet) checkOverrides() error {
	for _, c := range f.Clusters {
		concerning := slices.DeleteFunc(slices.Clone(f.overrides), func(o v1alpha1.ProxyOverride) bool { return !concerns(o, c) })
		if len(concerning) > 1 {
			return fmt.Errorf("ProxyOverride %s/%s is given more than once", c.Namespace, c.Name)
		}
	}
	for _, o := range f.overrides {
		if !slices.ContainsFunc(f.Clusters, func(c *clusterv1.Cluster) bool { return concerns(o, c) }) {
			return fmt.Errorf("ProxyOverride %s/%s: there is no Cluster of that name and namespace in the files", o.Namespace, o.Name)
		}
	}
	return nil
}

func concerns(o v1alpha1.ProxyOverride, c *clusterv1.Cluster) bool {
	return o.Name == c.Name && (o.Namespace == c.Namespace || o.Namespace == "" && c.Namespace == "default")
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
	for i := range f.overrides {
		if concerns(f.overrides[i], cluster) {
			in.Override = inputs.Override(&f.overrides[i])
		}
	}
	if in.Facts, err = f.facts(cluster, warnings); err != nil {
		return resolve.Effective{}, err
	}
	return resolve.Resolve(in)
}

// Proxies chooses among the CorporateProxies of documents, as the operator does. If there is none, or one is given twice,
// that is an error, which names where they are from.
func Proxies(from string, documents []document.Document) (Choose, error) {
	proxies, err := document.OfKind[v1alpha1.CorporateProxy](documents, "CorporateProxy")
	if err != nil {
		return nil, err
	}
	if len(proxies) == 0 {
		return nil, fmt.Errorf("%s: no CorporateProxy in it", from)
	}
	given := map[string]bool{}
	for _, proxy := range proxies {
		if given[proxy.Name] {
			return nil, fmt.Errorf("%s: CorporateProxy %s is given more than once", from, proxy.Name)
		}
		given[proxy.Name] = true
	}
	objects := document.NamedOf(documents)
	return func(cluster *clusterv1.Cluster) (resolve.Installation, error) {
		// Every namespace has this label; others stand in the cluster.
		namespace := map[string]string{"kubernetes.io/metadata.name": cluster.Namespace}
		return inputs.Choose(proxies, cluster, namespace, objects.Operators)
	}, nil
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
	table, err := provider.Builtin("")
	if err != nil {
		return resolve.Facts{}, err
	}
	from, known := inputs.FindFactsObject(cluster, table)
	if !known {
		return resolve.Facts{}, nil
	}
	object, found := document.Find(f.documents, from.Row.Group, from.Row.Kind, cluster.Namespace, from.Name)
	read := inputs.ReportedFacts(table.Version(), from.Name, provider.Extract(from.Row, object))
	if found && len(read.Missing) > 0 {
		fmt.Fprintf(warnings, "warning: %s %s/%s: not known yet: %s; the operator waits for it\n",
			from.Row.Kind, cluster.Namespace, from.Name, strings.Join(read.Missing, ", "))
	}
	read.Missing = nil
	return inputs.Facts(cluster.Namespace, read), nil
}
