package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/cli/cluster"
	"github.com/fairlead-io/fairlead/internal/cli/fleet"
	"github.com/fairlead-io/fairlead/internal/core/document"
)

// read fills in both states.
func (o *planOptions) read(cmd *cobra.Command, into *fleet.States) error {
	if o.online() {
		return o.readLive(cmd, into)
	}
	common, err := readDocuments(o.clusters, true, cmd.InOrStdin(), cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	for i := range common {
		common[i].Remarks = nil // they have been said
	}
	defer func() { warnOf(into.After, cmd.ErrOrStderr()) }()
	parsed := parser{}
	if o.upgrade {
		found, err := workingTree(o.args, o.values)
		if err != nil {
			return err
		}
		if into.Before, err = o.parts(parsed, found, common); err != nil {
			return err
		}
		into.After = into.Before
		return noProxies("the files", into.Before)
	}
	before, after, err := o.trees()
	if err != nil {
		return err
	}
	if len(before)+len(after) == 0 {
		return fmt.Errorf("%s: no file that ends with .yaml, .yml or .json, or is called %s", strings.Join(o.args, ", "), o.values)
	}
	if into.Before, err = o.parts(parsed, before, common); err != nil {
		return err
	}
	if into.After, err = o.parts(parsed, after, common); err != nil {
		return err
	}
	return noProxies(strings.Join(o.args, ", "), into.Before, into.After)
}

// warnOf prints a warning for each value that is lost in the files of a state. A file that cannot be read at all is an
// error elsewhere.
func warnOf(parts []fleet.Part, warnings io.Writer) {
	for _, part := range parts {
		document.Warn(part.Documents, warnings)
		if v := part.Values; v != nil {
			_ = warnOfValues(v.File, v.Data, warnings)
		}
	}
}

// trees returns the files of both states.
func (o *planOptions) trees() (before, after []treeFile, err error) {
	if o.from == "" {
		if before, err = readTree(o.args[0], o.values); err == nil {
			after, err = readTree(o.args[1], o.values)
		}
		return before, after, err
	}
	if before, err = treeAt(o.from, o.args, o.values); err != nil {
		return nil, nil, err
	}
	if o.to == "" {
		after, err = workingTree(o.args, o.values)
	} else {
		after, err = treeAt(o.to, o.args, o.values)
	}
	return before, after, err
}

// noProxies returns an error where no state has anything that sets a proxy: every cluster would be as before.
func noProxies(from string, states ...[]fleet.Part) error {
	for _, parts := range states {
		for _, p := range parts {
			if p.Values != nil {
				return nil
			}
			for _, d := range p.Documents {
				if d.Is("CorporateProxy", v1alpha1.GroupVersion.String()) {
					return nil
				}
			}
		}
	}
	return fmt.Errorf("%s: no CorporateProxy and no values in it", from)
}

// parser keeps what it has parsed: most files are the same in both states.
type parser map[string][]document.Document

func (p parser) parse(f treeFile) ([]document.Document, error) {
	key := f.Name + "\x00" + string(f.Data)
	if known, ok := p[key]; ok {
		return known, nil
	}
	documents, err := document.Parse(f.Name, f.Data)
	p[key] = documents
	return documents, err
}

// parts returns the installations: a folder with a file of values has the manifests below it. All other manifests are one more.
func (o *planOptions) parts(parsed parser, found []treeFile, common []document.Document) ([]fleet.Part, error) {
	var parts []fleet.Part
	at := map[string]int{}
	for _, f := range found {
		if path.Base(f.Name) == o.values {
			at[path.Dir(f.Name)] = len(parts)
			parts = append(parts, fleet.Part{Values: &fleet.Values{File: f.Name, Data: f.Data}})
		}
	}
	var rest fleet.Part
	for _, f := range found {
		if path.Base(f.Name) == o.values {
			continue
		}
		documents, err := parsed.parse(f)
		if err != nil {
			return nil, err
		}
		into := &rest
		if i, ok := installation(at, f.Name); ok {
			into = &parts[i]
		}
		into.Documents = append(into.Documents, documents...)
	}
	switch {
	case len(common) > 0 && len(parts) == 1 && len(rest.Documents) == 0:
		parts[0].Documents = append(parts[0].Documents, common...)
	case len(common) > 0 && len(parts) > 1:
		return nil, fmt.Errorf("--cluster: which of the %d installations would have the clusters? Put them below its folder, or compare one installation", len(parts))
	default:
		rest.Documents = append(rest.Documents, common...)
	}
	if len(rest.Documents) > 0 {
		parts = append(parts, rest)
	}
	return parts, nil
}

// installation returns the index of the innermost folder around a file that has values.
func installation(at map[string]int, name string) (int, bool) {
	for folder := path.Dir(name); ; folder = path.Dir(folder) {
		if i, ok := at[folder]; ok {
			return i, true
		}
		if folder == "." || folder == "/" {
			return 0, false
		}
	}
}

// readLive reads the management cluster, and puts -f over it.
func (o *planOptions) readLive(cmd *cobra.Command, into *fleet.States) error {
	manifests, err := readDocuments(o.files, o.recursive, cmd.InOrStdin(), cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	if err := knownKinds(o.files, manifests, cmd.ErrOrStderr()); err != nil && !o.upgrade {
		return err
	}
	o.AllNamespaces = true
	from, err := cluster.Connect(o.Options)
	if err != nil {
		return err
	}
	live, err := liveObjects(cmd.Context(), from, o.operatorNamespace)
	if err != nil {
		return err
	}
	after, err := applied(live, manifests)
	if err != nil {
		return err
	}
	into.Before, into.After = []fleet.Part{{Documents: live}}, []fleet.Part{{Documents: after}}
	into.Warnings = io.Discard // of fields that a later version of Cluster API has
	return nil
}

// knownKinds returns an error where nothing in the manifests concerns clusters, or a kind of Fairlead is misspelled. What is not
// looked at is a warning.
func knownKinds(names []string, manifests []document.Document, warnings io.Writer) error {
	known := 0
	others := map[string]int{}
	for _, d := range manifests {
		kind := d.Object.GroupVersionKind()
		ours := slices.Contains([]string{"CorporateProxy", "ProxyOverride", "ProxyReport"}, kind.Kind)
		switch {
		case kind.Group == v1alpha1.GroupVersion.Group && !ours:
			return fmt.Errorf("%s: there is no kind %s in %s", d.File, kind.Kind, kind.Group)
		case ours, strings.HasSuffix(kind.Group, clusterv1.GroupVersion.Group), slices.Contains([]string{"Secret", "ConfigMap", "Namespace"}, kind.Kind) && kind.Group == "":
			known++
		default:
			others[kind.Kind]++
		}
	}
	if known == 0 {
		return fmt.Errorf("%s: no CorporateProxy, ProxyOverride, Cluster or what belongs to them in it", strings.Join(names, ", "))
	}
	for _, kind := range slices.Sorted(maps.Keys(others)) {
		fmt.Fprintf(warnings, "warning: not looked at: %s (%d)\n", kind, others[kind])
	}
	return nil
}

// liveObjects reads no Secret.
func liveObjects(ctx context.Context, from *cluster.Cluster, operatorNamespace string) ([]document.Document, error) {
	var all []document.Document
	for _, one := range []struct {
		resource  schema.GroupVersionResource
		namespace string
	}{
		{clusterv1.GroupVersion.WithResource("clusters"), ""},
		{v1alpha1.GroupVersion.WithResource("corporateproxies"), ""},
		{v1alpha1.GroupVersion.WithResource("proxyoverrides"), ""},
		{v1alpha1.GroupVersion.WithResource("proxyreports"), ""},
		{schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, operatorNamespace},
	} {
		objects, err := from.Objects(ctx, one.resource, one.namespace)
		switch {
		case apierrors.IsNotFound(err):
			return nil, fmt.Errorf("%s has no %s: is it a management cluster with Fairlead?", from.Host, one.resource.GroupResource())
		case err != nil:
			return nil, fmt.Errorf("listing %s: %w", one.resource.Resource, err)
		}
		for _, object := range objects {
			all = append(all, document.Document{File: "the cluster", Object: object})
		}
	}
	namespaces, err := from.Metadata(ctx, schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}, "", "")
	if err != nil {
		return nil, fmt.Errorf("listing namespaces: %w", err)
	}
	for _, n := range namespaces {
		object := unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace"}}
		object.SetName(n.Name)
		object.SetLabels(n.Labels)
		all = append(all, document.Document{File: "the cluster", Object: object})
	}
	return all, nil
}

// applied returns the objects as they are after manifests were applied: a Cluster keeps what the manifest does not say, as
// providers fill it in; of every other object the manifest says all.
func applied(live, manifests []document.Document) ([]document.Document, error) {
	after := append([]document.Document{}, live...)
	at := map[string]int{}
	for i, d := range live {
		at[identity(d)] = i
	}
	given := map[string]bool{}
	for _, d := range manifests {
		key := identity(d)
		if given[key] {
			return nil, fmt.Errorf("%s is given more than once", d.Name())
		}
		given[key] = true
		i, ok := at[key]
		if !ok {
			after = append(after, d)
			continue
		}
		if d.Object.GetKind() == "Cluster" {
			if d.Object.GetAPIVersion() != live[i].Object.GetAPIVersion() {
				return nil, errors.New(d.Name() + ": write it as " + live[i].Object.GetAPIVersion() + ", as it is compared with the one of the cluster")
			}
			d.Object = unstructured.Unstructured{Object: overlaid(live[i].Object.Object, d.Object.Object)}
		}
		after[i] = d
	}
	return after, nil
}

// identity is the same for the same object, whatever its version.
func identity(d document.Document) string {
	namespace := d.Object.GetNamespace()
	if kind := d.Object.GetKind(); kind != "CorporateProxy" && kind != "Namespace" {
		namespace = cmp.Or(namespace, "default")
	}
	return fmt.Sprintf("%s %s/%s", d.Object.GroupVersionKind().GroupKind(), namespace, d.Object.GetName())
}

// overlaid puts a map over another; lists and values replace.
func overlaid(below, above map[string]any) map[string]any {
	all := map[string]any{}
	for key, value := range below {
		all[key] = value
	}
	for key, value := range above {
		lower, isMap := all[key].(map[string]any)
		upper, areMaps := value.(map[string]any)
		if isMap && areMaps {
			value = overlaid(lower, upper)
		}
		all[key] = value
	}
	return all
}
