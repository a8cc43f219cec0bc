// Package lists finds NO_PROXY lists in objects, wherever they stand, with the proxy beside them, and has lint judge them:
// fields of any kind, variables, arguments, texts of ConfigMaps and files, values of charts.
package lists

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/internal/core/lint"
	"github.com/fairlead-io/fairlead/internal/core/proxyenv"
	"github.com/fairlead-io/fairlead/internal/core/render"
	"github.com/fairlead-io/fairlead/noproxy"
)

// Place is where the settings of one reader stand side by side.
type Place struct {
	File     string            // empty: it is no file
	Object   string            // kind, namespace and name
	Path     string            // of the field that they stand in
	values   map[string]string // by the names that variables have
	fields   map[string]string // where each is
	complete bool              // nothing else sets variables: without a list here, the reader has none
	traits   kindTraits
	// cluster is the one that the object is for, by its label; empty: any.
	cluster string
}

// Judge has each of the lists judged, those that are alike once. What is for one cluster is not judged for others.
func Judge(places []Place, run func(lint.Input) ([]lint.Result, error)) ([]lint.Result, error) {
	var order []string
	alike := map[string][]Place{}
	for _, p := range places {
		key := p.key()
		if alike[key] == nil {
			order = append(order, key)
		}
		alike[key] = append(alike[key], p)
	}
	all := []lint.Result{}
	for _, key := range order {
		judged, err := alike[key][0].judge(run)
		if err != nil {
			return nil, err
		}
		if one := alike[key][0].cluster; slices.ContainsFunc(judged, func(l lint.Result) bool { return l.Cluster == one }) {
			judged = slices.DeleteFunc(judged, func(l lint.Result) bool { return l.Cluster != one })
		}
		for _, found := range judged {
			found.List = "" // which is not that of pods
			found.Places = namesOf(alike[key])
			all = append(all, found)
		}
	}
	return all, nil
}

// namesOf says where places are, each once.
func namesOf(places []Place) []lint.Place {
	var names []lint.Place
	seen := map[lint.Place]bool{}
	for _, p := range places {
		if name := (lint.Place{File: p.File, Object: p.Object, Field: p.field()}); !seen[name] {
			names, seen[name] = append(names, name), true
		}
	}
	return names
}

// key is the same for places that are judged alike.
func (p Place) key() string {
	key := fmt.Sprintln(p.traits, p.complete, p.cluster)
	for _, name := range slices.Sorted(maps.Keys(p.values)) {
		key += fmt.Sprintf("%s=%q\n", name, p.values[name])
	}
	return key
}

// field names the field with the list, or the object that should have one.
func (p Place) field() string {
	for _, name := range []string{proxyenv.NoProxy, proxyenv.LowerNoProxy} {
		if field, ok := p.fields[name]; ok {
			return field
		}
	}
	return p.Path
}

// HasList tells whether a list is there, or should be.
func (p Place) HasList() bool { return hasList(p.values) || p.complete }

// judge returns the findings for a place, one result for each cluster. NO_PROXY and no_proxy are judged apart if they differ, since
// some clients read only the second. Findings that do not hold for this kind of object are left out.
func (p Place) judge(run func(lint.Input) ([]lint.Result, error)) ([]lint.Result, error) {
	upper, lower := p.values[proxyenv.NoProxy], p.values[proxyenv.LowerNoProxy]
	if !hasList(p.values) && p.complete {
		return []lint.Result{{Findings: []lint.Finding{p.notSet()}}}, nil
	}
	for _, list := range []string{upper, lower} {
		if len(list) > render.MaxNoProxyBytes {
			return []lint.Result{{Findings: lint.TooLong(list)}}, nil // and costs too much to look at
		}
	}
	judged, err := run(p.input(p.values))
	if err != nil {
		return nil, err
	}
	if upper != "" && lower != "" && upper != lower {
		other, err := run(p.input(map[string]string{proxyenv.LowerNoProxy: lower}))
		if err != nil {
			return nil, err
		}
		addNews(judged, other)
	}
	for i := range judged {
		judged[i].Findings = slices.DeleteFunc(judged[i].Findings, p.isUseless)
	}
	return judged, nil
}

// addNews adds to the results in judged the findings of other that they do not have yet.
func addNews(judged, other []lint.Result) {
	value := func(a, b lint.Entry) bool { return a.Value == b.Value }
	for i := range other {
		said := judged[i].Findings
		news := slices.DeleteFunc(other[i].Findings, func(f lint.Finding) bool {
			return slices.ContainsFunc(said, func(s lint.Finding) bool {
				return s.Code == f.Code && s.Why == f.Why && slices.EqualFunc(s.Entries, f.Entries, value)
			})
		})
		judged[i].Findings = lint.Sorted(append(said, news...))
	}
}

// isUseless reports whether a finding helps nobody here. Whoever sets only one proxy has a reader in mind. Nothing is missing where
// a controller adds what the cluster needs, or the reader does not ask for it.
func (p Place) isUseless(f lint.Finding) bool {
	switch {
	case f.Code == lint.OneProxy, p.traits.adds && needed[f.Code], !p.HasList() && !ofURL[f.Code]:
		return true
	}
	return p.traits.ours && (f.Severity != lint.Error || f.Code == lint.Breaks)
}

func (p Place) input(values map[string]string) lint.Input {
	in := lint.InputOf(values, p.Object, func(name string) string { return p.fields[name] })
	in.Off = false // who reads it may have a proxy from elsewhere
	if p.traits.inGo {
		in.Audience = noproxy.AudienceGo
	}
	return in
}

var (
	needed = map[lint.Code]bool{
		lint.MissingServices: true, lint.MissingPods: true, lint.MissingEndpoint: true, lint.MissingLoopback: true, lint.MissingMetadata: true,
		lint.MissingNodes: true, lint.ProviderAPI: true, lint.EmptyList: true, lint.NoCluster: true,
	}
	ofURL = map[lint.Code]bool{lint.ProxyURL: true, lint.HTTPSProxy: true, lint.PasswordEncoding: true, lint.PasswordExpanded: true}
)

// OfURL tells whether a finding is about a proxy's URL, and not about a list.
func OfURL(f lint.Finding) bool { return ofURL[f.Code] }

func (p Place) notSet() lint.Finding {
	var set []string
	for _, name := range []string{proxyenv.HTTP, proxyenv.LowerHTTP, proxyenv.HTTPS, proxyenv.LowerHTTPS} {
		if field, ok := p.fields[name]; ok && p.traits.none {
			set = append(set, field)
		} else if ok {
			set = append(set, name)
		}
	}
	found := lint.Finding{
		Code: lint.EmptyList, Severity: lint.Warning,
		Why: fmt.Sprintf("%s is set, and NO_PROXY is not: everything goes through the proxy, also what is in the cluster, unless something adds a list later", strings.Join(set, ", ")),
		Mend: "set NO_PROXY to what fairlead render --values VALUES --cluster CLUSTER -o noproxy prints, or leave it to the chart fairlead-policies, which adds it to new pods " +
			"in namespaces that it serves",
	}
	if p.traits.none {
		found.Why = strings.Join(set, ", ") + " is set, and noProxy is not: everything goes through the proxy, also what is in the cluster"
		found.Mend = "write what fairlead render --values VALUES --cluster CLUSTER -o addondeploymentconfig prints"
	}
	return found
}

// kindTraits says how the controller of a kind treats its settings.
type kindTraits struct {
	adds bool // what the cluster needs, or the reader asks for nothing of it
	bare bool // the proxy is host:port, without a scheme
	inGo bool // programs in Go alone read the list
	none bool // without a list, agents have none
	ours bool // Fairlead writes the list anew, for each client
	url  bool // proxyURL is the URL of a proxy
}

// kinds whose settings are not read as they stand, by group and kind.
var kinds = map[string]kindTraits{
	// aws/eks-anywhere: pkg/providers/*/template.go, with common.NoProxyDefaults; it goes to containerd.
	"anywhere.eks.amazonaws.com/Cluster": {adds: true, bare: true, inGo: true},
	// openshift/cluster-network-operator: pkg/util/proxyconfig/no_proxy.go.
	"config.openshift.io/Proxy":             {adds: true},
	"hypershift.openshift.io/HostedCluster": {adds: true},
	// AKS: effectiveNoProxy is the list with what AKS adds.
	"infrastructure.cluster.x-k8s.io/AzureManagedControlPlane":         {adds: true},
	"infrastructure.cluster.x-k8s.io/AzureManagedControlPlaneTemplate": {adds: true},
	// What becomes of a variable, the ClusterClass decides.
	"cluster.x-k8s.io/Cluster":                               {adds: true},
	"addon.open-cluster-management.io/AddOnDeploymentConfig": {none: true},
	"config.open-cluster-management.io/KlusterletConfig":     {url: true},
	// What these reach, they name: no Service of the cluster.
	"agent-install.openshift.io/InfraEnv": {adds: true},
	"monitoring.coreos.com/ScrapeConfig":  {adds: true, url: true},
}

// leftOut are groups whose objects have no settings of their own, or are for other verbs.
var leftOut = []string{"fairlead.io", "apiextensions.k8s.io", "admissionregistration.k8s.io", "wgpolicyk8s.io", "openreports.io", "kyverno.io"}

func groupOf(object map[string]any) string {
	return (&unstructured.Unstructured{Object: object}).GroupVersionKind().Group
}

func isLeftOut(object map[string]any) bool {
	of := "." + groupOf(object)
	inGroup := func(group string) bool { return strings.HasSuffix(of, "."+group) }
	return object["kind"] == "Event" || object["sops"] != nil || slices.ContainsFunc(leftOut, inGroup)
}

// isElsewhere tells whether a file is for programs that run in no cluster: Compose, or a pipeline.
func isElsewhere(file map[string]any) bool {
	return file["kind"] == nil && (file["services"] != nil || file["jobs"] != nil || file["stages"] != nil || file["steps"] != nil)
}

// clusterOf returns the cluster that an object of Cluster API belongs to.
func clusterOf(object map[string]any) string {
	name, _, _ := unstructured.NestedString(object, "metadata", "labels", "cluster.x-k8s.io/cluster-name") // clusterv1.ClusterNameLabel
	if name == "" {
		return ""
	}
	return (&unstructured.Unstructured{Object: object}).GetNamespace() + "/" + name
}

func howOf(object map[string]any) kindTraits {
	kind, _ := object["kind"].(string)
	return kinds[groupOf(object)+"/"+kind]
}
