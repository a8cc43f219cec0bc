package bundle

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/internal/core/document"
)

// Options say for whom a bundle is.
type Options struct {
	Name      string // what its objects' names begin with
	Namespace string // of the Clusters; empty for that where it is applied
	Selector  metav1.LabelSelector
}

// Bundle is the text of the objects to apply in the management cluster.
type Bundle struct {
	Text    []byte
	Dropped []string // hooks of Helm, which nobody would run at the right time
}

// Largest is how much one ConfigMap or Secret carries. The API server takes 1 MiB, and there are names beside it.
const Largest = 1<<20 - 1<<14

const hook = "helm.sh/hook"

// Make is a function of its input: the same manifests are the same bytes.
func Make(documents []document.Document, o Options) (Bundle, error) {
	b := Bundle{}
	var namespaces, filled, crds, others, secrets []unstructured.Unstructured
	for _, d := range documents {
		if _, ok := d.Object.GetAnnotations()[hook]; ok {
			b.Dropped = append(b.Dropped, title(d.Object))
			continue
		}
		if err := check(d.Object); err != nil {
			return b, err
		}
		switch d.Object.GroupVersionKind().GroupKind().String() {
		case "Namespace":
			namespaces = append(namespaces, d.Object)
		case "CustomResourceDefinition.apiextensions.k8s.io":
			crds = append(crds, d.Object)
		case "Secret":
			secrets = append(secrets, d.Object)
		case "ConfigMap":
			if empty(d.Object) {
				filled = append(filled, d.Object)
				continue
			}
			others = append(others, d.Object)
		default:
			others = append(others, d.Object)
		}
	}
	if len(filled)+len(crds)+len(others)+len(secrets) == 0 {
		return b, fmt.Errorf("no object in it but %d hooks of Helm and %d Namespaces", len(b.Dropped), len(namespaces))
	}
	namespaces = append(namespaces, missing(namespaces, slices.Concat(filled, crds, others, secrets))...)
	var err error
	b.Text, err = o.text(append(namespaces, filled...), secrets, slices.Concat(crds, others))
	return b, err
}

// empty returns a ConfigMap that a program fills.
func empty(o unstructured.Unstructured) bool {
	data, _, _ := unstructured.NestedMap(o.Object, "data")
	binary, _, _ := unstructured.NestedMap(o.Object, "binaryData")
	return len(data)+len(binary) == 0
}

// text puts the objects that are applied once into a set of their own. A set that applies again would remove what
// others have written, such as labels of Namespaces.
func (o Options) text(once, secrets, objects []unstructured.Unstructured) ([]byte, error) {
	first, err := o.carriers("ConfigMap", o.Name+"-namespace", once)
	if err != nil {
		return nil, err
	}
	secret, err := o.carriers("Secret", o.Name+"-secret", secrets)
	if err != nil {
		return nil, err
	}
	others, err := o.carriers("ConfigMap", o.Name, objects)
	if err != nil {
		return nil, err
	}
	var all []any
	add := func(name, strategy string, carriers []carrier) {
		if len(carriers) == 0 {
			return
		}
		for _, c := range carriers {
			all = append(all, c)
		}
		all = append(all, o.set(name, strategy, carriers))
	}
	add(o.Name+"-namespace", "ApplyOnce", first)
	add(o.Name, "Reconcile", slices.Concat(secret, others))
	var text bytes.Buffer
	for _, object := range all {
		content, err := yaml.Marshal(object)
		if err != nil {
			return nil, err
		}
		text.WriteString("---\n")
		text.Write(content)
	}
	return text.Bytes(), nil
}

// missing returns the Namespaces that objects are in, and that nobody brings.
func missing(brought, objects []unstructured.Unstructured) []unstructured.Unstructured {
	there := map[string]bool{"": true, metav1.NamespaceDefault: true}
	for _, n := range brought {
		there[n.GetName()] = true
	}
	wanted := map[string]bool{}
	for _, o := range objects {
		if name := o.GetNamespace(); !there[name] && !strings.HasPrefix(name, "kube-") {
			wanted[name] = true
		}
	}
	var more []unstructured.Unstructured
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		more = append(more, unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name},
		}})
	}
	return more
}

// title says which object it is.
func title(o unstructured.Unstructured) string {
	if o.GetNamespace() == "" {
		return o.GetKind() + " " + o.GetName()
	}
	return o.GetKind() + " " + o.GetNamespace() + "/" + o.GetName()
}
