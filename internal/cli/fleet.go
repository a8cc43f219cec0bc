package cli

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/cabundle"
	"github.com/fairlead-io/fairlead/internal/core/inputs"
	"github.com/fairlead-io/fairlead/internal/core/lint"
	"github.com/fairlead-io/fairlead/internal/core/provider"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
)

// fleet is what the files say.
type fleet struct {
	documents []document // of the clusters' files
	clusters  []*clusterv1.Cluster
	overrides []v1alpha1.ProxyOverride
	choose    func(*clusterv1.Cluster) (resolve.Installation, error)
	form      resolve.Form
	warned    map[cabundle.Certificate]bool
}

func readFleet(opts renderOptions, stdin io.Reader, warnings io.Writer) (*fleet, error) {
	f := &fleet{form: resolve.Form(opts.form), warned: map[cabundle.Certificate]bool{}}
	var err error
	if f.choose, err = readProxy(opts, stdin); err != nil {
		return nil, err
	}
	if f.documents, err = readDocuments(opts.clusters, opts.recursive, stdin); err != nil {
		return nil, err
	}
	if f.clusters, err = clusters(f.documents, warnings); err != nil {
		return nil, err
	}
	if len(f.clusters) == 0 {
		return nil, fmt.Errorf("%s: no Cluster of cluster.x-k8s.io in it", strings.Join(opts.clusters, ", "))
	}
	documents := f.documents
	if len(opts.override) > 0 {
		if documents, err = readDocuments(opts.override, opts.recursive, stdin); err != nil {
			return nil, err
		}
	}
	if f.overrides, err = ofKind[v1alpha1.ProxyOverride](documents, "ProxyOverride"); err != nil {
		return nil, err
	}
	return f, f.checkOverrides()
}

// checkOverrides refuses an override that would silently do nothing, or in the place of another.
func (f *fleet) checkOverrides() error {
	for _, c := range f.clusters {
		concerning := slices.DeleteFunc(slices.Clone(f.overrides), func(o v1alpha1.ProxyOverride) bool { return !concerns(o, c) })
		if len(concerning) > 1 {
			return fmt.Errorf("ProxyOverride %s/%s is given more than once", c.Namespace, c.Name)
		}
	}
	for _, o := range f.overrides {
		if !slices.ContainsFunc(f.clusters, func(c *clusterv1.Cluster) bool { return concerns(o, c) }) {
			return fmt.Errorf("ProxyOverride %s/%s: there is no Cluster of that name and namespace in the files", o.Namespace, o.Name)
		}
	}
	return nil
}

func concerns(o v1alpha1.ProxyOverride, c *clusterv1.Cluster) bool {
	return o.Name == c.Name && (o.Namespace == c.Namespace || o.Namespace == "" && c.Namespace == "default")
}

// resolve does what the operator does, but for waiting: required facts that the
// files lack are a warning.
func (f *fleet) resolve(cluster *clusterv1.Cluster, warnings io.Writer) (resolve.Effective, error) {
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

// readProxy returns the function that chooses a cluster's installation.
func readProxy(opts renderOptions, stdin io.Reader) (func(*clusterv1.Cluster) (resolve.Installation, error), error) {
	if opts.values != "" {
		data, err := readFile(opts.values, stdin)
		if err != nil {
			return nil, err
		}
		installation, err := inputs.Values(opts.values, data)
		if err == nil && opts.trustedCA != "" {
			err = addTrustedCA(&installation, opts.trustedCA, stdin)
		}
		return func(*clusterv1.Cluster) (resolve.Installation, error) { return installation, nil }, err
	}
	documents, err := readDocuments([]string{opts.proxy}, opts.recursive, stdin)
	if err != nil {
		return nil, err
	}
	proxies, err := ofKind[v1alpha1.CorporateProxy](documents, "CorporateProxy")
	if err != nil {
		return nil, err
	}
	if len(proxies) == 0 {
		return nil, fmt.Errorf("%s: no CorporateProxy in it", opts.proxy)
	}
	given := map[string]bool{}
	for _, proxy := range proxies {
		if given[proxy.Name] {
			return nil, fmt.Errorf("%s: CorporateProxy %s is given more than once", opts.proxy, proxy.Name)
		}
		given[proxy.Name] = true
	}
	objects := readNamed(documents)
	return func(cluster *clusterv1.Cluster) (resolve.Installation, error) {
		// Every namespace has this label; others stand in the cluster.
		namespace := map[string]string{"kubernetes.io/metadata.name": cluster.Namespace}
		return inputs.Choose(proxies, cluster, namespace, objects.operators)
	}, nil
}

// addTrustedCA reads the file of --trusted-ca.
func addTrustedCA(installation *resolve.Installation, file string, stdin io.Reader) error {
	content, err := readFile(file, stdin)
	if err != nil {
		return err
	}
	return inputs.AddTrustedCA(&installation.Node, file, "", content)
}

// warnOfDates says which certificates are not valid at a time, each once.
func (f *fleet) warnOfDates(certificates []cabundle.Certificate, now int64, warnings io.Writer) {
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
func (f *fleet) facts(cluster *clusterv1.Cluster, warnings io.Writer) (resolve.Facts, error) {
	table, err := provider.Builtin("")
	if err != nil {
		return resolve.Facts{}, err
	}
	from, known := inputs.FindFactsObject(cluster, table)
	if !known {
		return resolve.Facts{}, nil
	}
	object, found := objectIn(f.documents, from.Row.Group, from.Row.Kind, cluster.Namespace, from.Name)
	read := inputs.ReportedFacts(table.Version(), from.Name, provider.Extract(from.Row, object))
	if found && len(read.Missing) > 0 {
		fmt.Fprintf(warnings, "warning: %s %s/%s: not known yet: %s; the operator waits for it\n",
			from.Row.Kind, cluster.Namespace, from.Name, strings.Join(read.Missing, ", "))
	}
	read.Missing = nil
	return inputs.Facts(cluster.Namespace, read), nil
}

// providerAddress is what makes the machines of a cluster, if its infrastructure object stands in the files and says so.
func providerAddress(documents []document, cluster *clusterv1.Cluster) lint.ProviderAddress {
	ref := cluster.Spec.InfrastructureRef
	api, known := provider.APIOf(ref.APIGroup, ref.Kind)
	object, found := objectIn(documents, ref.APIGroup, ref.Kind, cluster.Namespace, ref.Name)
	if !known || !found {
		return lint.ProviderAddress{}
	}
	name := ref.Kind + " " + cluster.Namespace + "/" + ref.Name
	return lint.ProviderAddress{Name: api.Name, Address: api.Address(object), Object: name, Field: api.Path}
}

// objectIn returns an object, if it stands in the files.
func objectIn(documents []document, group, kind, namespace, name string) (map[string]any, bool) {
	for _, d := range documents {
		gvk := d.object.GroupVersionKind()
		if gvk.Group == group && gvk.Kind == kind && d.object.GetName() == name && namespaceOf(d) == namespace {
			return d.object.Object, true
		}
	}
	return nil, false
}

func namespaceOf(d document) string {
	if namespace := d.object.GetNamespace(); namespace != "" {
		return namespace
	}
	return "default"
}
