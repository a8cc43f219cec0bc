// Package resolve decides: from one installation, one Cluster, the facts of its
// infrastructure and its owner's wishes it makes the one [Effective] proxy
// configuration of that cluster, or says in a [Problem] why there is none yet.
//
// The order of a list in form Exact, the first occurrence of an entry winning:
//
//	service domain, service CIDRs, pod CIDRs, control-plane endpoint host,
//	entries of the installation, entries of the cluster, svc, 127.0.0.1, localhost
//
// The package is pure: plain values in and out, no Kubernetes library, context,
// logger, clock, file or network.
package resolve

import (
	"cmp"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/core/proxyurl"
	"github.com/fairlead-io/fairlead/noproxy"
)

// What kubeadm assumes where a Cluster says nothing: kubernetes/kubernetes,
// cmd/kubeadm/app/apis/kubeadm/v1beta4/defaults.go. The service network is
// assumed only where kubeadm builds the control plane; managed ones differ.
const (
	defaultServiceDomain = "cluster.local"
	defaultServiceCIDR   = "10.96.0.0/12"
	kubeadmControlPlane  = "KubeadmControlPlane"
)

// builtins are the last entries of every list. IPv6's loopback came with Portable.
var builtins = []string{"svc", "127.0.0.1", "::1", "localhost"}

// apiServerNames are the names of the Service kubernetes that no other entry covers in each client. Who calls it by one has a
// resolver with the cluster's search domains.
var apiServerNames = []string{"kubernetes", "kubernetes.default", "kubernetes.default.svc"}

// NamesAPIServer reports whether an entry is such a name, below which nothing is.
func NamesAPIServer(e noproxy.Entry) bool {
	return (e.Kind == noproxy.Domain || e.Kind == noproxy.Host) && e.Port == 0 && !e.Rooted && slices.Contains(apiServerNames, e.Name)
}

// Resolve decides the configuration of one cluster that an installation's
// proxy has been chosen for. The error is a *Problem.
func Resolve(in Input) (Effective, error) {
	effective := Effective{
		Namespace: in.Cluster.Namespace,
		Cluster:   in.Cluster.Name,
		Mode:      ModeProxied,
		Proxy:     in.Installation.Name,
		// So that an upgrade does not change a cluster's form by itself: what the installation asks for, else what the
		// cluster has.
		Form:      cmp.Or(in.Installation.Form, in.PinnedForm, DefaultForm),
		Node:      in.Installation.Node,
		ConfigMap: in.Installation.ConfigMap,
	}
	if err := knownForm(in, effective.Form); err != nil {
		return Effective{}, err
	}
	switch {
	case in.Override.Direct && !in.Installation.Delegation.Direct:
		return Effective{}, NewProblem(ReasonNotDelegated, overrideObject(in.Cluster), "spec.mode", "Direct is not delegated by %s", in.Installation.Object)
	case in.Override.Direct:
		effective.Mode = ModeDirect
		return effective, nil
	case in.Installation.HTTP.IsZero() && in.Installation.HTTPS.IsZero():
		return Effective{}, NewProblem(ReasonInvalidProxy, in.Installation.Object, "", "both proxy URLs are empty: set http, https or both")
	// A list that would be half-known is withheld: machines keep what they were built with.
	case in.Cluster.EndpointHost == "":
		return Effective{}, endpointUnknown(in.Cluster)
	case len(in.Facts.Missing) > 0:
		return Effective{}, NewProblem(ReasonFactsPending, in.Facts.Object, "", "not known yet: %s", strings.Join(in.Facts.Missing, ", "))
	}
	list, err := entries(in, effective.Form)
	if err != nil {
		return Effective{}, err
	}
	if effective.Probed, err = probed(in); err != nil {
		return Effective{}, err
	}
	effective.HTTP, effective.HTTPS, effective.Previous = in.Installation.HTTP, in.Installation.HTTPS, in.Installation.Previous
	if effective.Form.Version() < noproxy.V2 { // later ones keep the final dot, with which resolvers try no search domain
		for _, u := range []*proxyurl.URL{&effective.HTTP, &effective.HTTPS, &effective.Previous.HTTP, &effective.Previous.HTTPS} {
			*u = u.WithoutFinalDot()
		}
	}
	effective.Entries, effective.NoProxy = list, write(list, effective.Form)
	return effective, nil
}

// Unproxied returns the configuration of a cluster that no CorporateProxy selects.
func Unproxied(cluster Cluster) Effective {
	return Effective{Namespace: cluster.Namespace, Cluster: cluster.Name, Mode: ModeUnproxied}
}

// knownForm refuses a form that this program does not have, as after a downgrade or by a typo: a list in it would lack what every
// list ends with.
func knownForm(in Input, form Form) error {
	switch {
	case slices.Contains(Forms, form):
		return nil
	case in.Installation.Form != "":
		return NewProblem(ReasonInvalidProxy, in.Installation.Object, "spec.form", "%q is none of %s", form, Forms)
	}
	return NewProblem(ReasonUnknownPromise, "ProxyReport of "+in.Cluster.Object(), "metadata.annotations[fairlead.io/form]",
		"form %s is unknown, this program has %s", form, Forms)
}

func endpointUnknown(cluster Cluster) *Problem {
	return NewProblem(ReasonEndpointUnknown, cluster.Object(), "spec.controlPlaneEndpoint.host", "not known yet")
}

func write(list noproxy.List, form Form) noproxy.Lists {
	if form == FormExact {
		return noproxy.Lists{Any: list, Go: list}
	}
	return noproxy.Lists{
		Any: noproxy.Write(list, noproxy.AudienceAny, form.Version()).Written,
		Go:  noproxy.Write(list, noproxy.AudienceGo, form.Version()).Written,
	}
}

// entries merges the layers in the documented order.
func entries(in Input, form Form) (noproxy.List, error) {
	network, err := clusterNetwork(in.Cluster)
	if err != nil {
		return nil, err
	}
	if err := narrowNetwork(in, network); err != nil {
		return nil, err
	}
	if form != FormExact {
		facts, err := factsEntries(in)
		if err != nil {
			return nil, err
		}
		network = append(network, facts...)
	}
	own, err := overrideEntries(in)
	if err != nil {
		return nil, err
	}
	network, builtin, err := exclude(in, network, builtinEntries(form))
	if err != nil {
		return nil, err
	}
	list := noproxy.Merge(network, in.Installation.NoProxy, own, builtin)
	if form.Version() >= noproxy.V3 {
		hosts(list)
	}
	if len(list) == 0 {
		return nil, NewProblem(ReasonInvalidOverride, overrideObject(in.Cluster), "spec.exclude",
			"excludes every entry: a proxy without NO_PROXY cuts the cluster off from itself")
	}
	return list, nil
}

// hosts has the names of the API server stand for these hosts alone, whoever else lists them. The cluster's domain is one.
func hosts(list noproxy.List) {
	isDomain := func(s noproxy.Source) bool { return s.Layer == noproxy.LayerServiceDomain }
	for i, item := range list {
		if NamesAPIServer(item.Entry) && !slices.ContainsFunc(item.Sources, isDomain) {
			list[i].Entry.Kind = noproxy.Host
		}
	}
}

// factsEntries parses what the provider adds. The table knows the addresses of
// every cluster of a kind; IPv6 ones are of no use where there is no IPv6. Who may write an infrastructure
// object may not open more with it than with a ProxyOverride.
func factsEntries(in Input) (noproxy.List, error) {
	if in.Facts.Refused != "" {
		return nil, NewProblem(ReasonInvalidFacts, in.Facts.Object, "", "%s: list networks instead of addresses", in.Facts.Refused)
	}
	known, err := ParseEntries(ReasonInvalidFacts, in.Facts.Known, nil)
	if err != nil {
		return nil, err
	}
	if !in.Cluster.HasIPv6() {
		known = slices.DeleteFunc(known, func(item noproxy.Item) bool { return item.Entry.Prefix.Addr().Is6() })
	}
	read, err := ParseEntries(ReasonInvalidFacts, in.Facts.Read, nil)
	if err != nil {
		return nil, err
	}
	return slices.Concat(known, read), narrow(in, in.Facts.Read, ReasonInvalidFacts)
}

func builtinEntries(form Form) noproxy.List {
	var list noproxy.List
	add := func(entry noproxy.Entry, _ error) { // constants; a test parses each
		list = append(list, noproxy.Item{Entry: entry, Sources: []noproxy.Source{{Layer: noproxy.LayerBuiltin}}})
	}
	for _, text := range builtins {
		if text != "::1" || form != FormExact {
			add(noproxy.Parse(text))
		}
	}
	if form.Version() >= noproxy.V3 {
		for _, name := range apiServerNames {
			add(noproxy.HostEntry(name))
		}
	}
	return list
}
