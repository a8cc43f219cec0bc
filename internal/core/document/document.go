// Package document reads Kubernetes objects as they stand in files, and as kubectl prints them.
package document

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	yamlreader "k8s.io/apimachinery/pkg/util/yaml"
	clusterv1beta1 "sigs.k8s.io/cluster-api/api/core/v1beta1" //nolint:staticcheck // people still have such manifests
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/yamldoc"
)

// Document is one Kubernetes object of a file.
type Document struct {
	File    string // or what else it was read from, for messages
	Object  unstructured.Unstructured
	Remarks []string // on the text that it is the first object of: what in it is lost
}

// Parse reads the objects of a file: YAML or JSON, several documents, and Lists as kubectl prints them. No error quotes
// the text, which may be a Secret.
func Parse(file string, data []byte) ([]Document, error) { return parseAll(file, data, true) }

// ParseAny is Parse for what may be no object, such as the values of a chart: its Document has neither kind nor apiVersion.
func ParseAny(file string, data []byte) ([]Document, error) { return parseAll(file, data, false) }

func parseAll(file string, data []byte, objects bool) ([]Document, error) {
	var all []Document
	if !bytes.HasSuffix(data, []byte("\n")) { // the reader may lose a long last line without its end
		data = append(data[:len(data):len(data)], '\n')
	}
	reader := yamlreader.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	at, above := 0, 0 // where the text begins, and how many lines are above it
	for number := 1; ; number++ {
		text, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: document %d: --- must stand alone on its line", file, number)
		}
		before := at
		at += max(bytes.Index(data[at:], text), 0)
		above += bytes.Count(data[before:at], []byte("\n"))
		documents, err := parse(file, text, above, objects)
		if err != nil {
			return nil, fmt.Errorf("%s: document %d: %w", file, number, err)
		}
		all, at, above = append(all, documents...), at+len(text), above+bytes.Count(text, []byte("\n"))
	}
}

// ErrNoObject is of a document that is not one, such as values of a chart.
var ErrNoObject = errors.New("not a Kubernetes object: apiVersion or kind is missing")

// parse reads the objects of a text, which has that many lines above it.
func parse(file string, text []byte, above int, objects bool) ([]Document, error) {
	content, remarks, err := yamldoc.Read[map[string]any](text, above, json.Unmarshal)
	if err != nil {
		return nil, errors.New("not valid YAML, or not a Kubernetes object")
	}
	if len(content) == 0 {
		return nil, nil
	}
	object := unstructured.Unstructured{Object: content}
	isObject := object.GetKind() != "" && object.GetAPIVersion() != ""
	if !isObject && objects {
		return nil, ErrNoObject
	}
	said := make([]string, len(remarks))
	for i, r := range remarks {
		said[i] = r.In(file)
	}
	if !isObject || !object.IsList() {
		return []Document{{file, object, said}}, nil
	}
	var items []Document
	err = object.EachListItem(func(item runtime.Object) error {
		items = append(items, Document{file, *item.(*unstructured.Unstructured), said}) //nolint:forcetypeassert // of an Unstructured
		said = nil
		return nil
	})
	return items, err
}

// Warn prints the remarks about the documents: each names a text that is lost.
func Warn(documents []Document, warnings io.Writer) {
	for _, d := range documents {
		for _, remark := range d.Remarks {
			fmt.Fprintln(warnings, "warning:", remark)
		}
	}
}

// Name says which object it is.
func (d Document) Name() string {
	if d.Object.GetNamespace() == "" {
		return fmt.Sprintf("%s: %s %s", d.File, d.Object.GetKind(), d.Object.GetName())
	}
	return fmt.Sprintf("%s: %s %s/%s", d.File, d.Object.GetKind(), d.Object.GetNamespace(), d.Object.GetName())
}

// Title names the object as it is written: a name may be a number. What is no object has none.
func (d Document) Title() string {
	if d.Object.GetKind() == "" {
		return ""
	}
	name, _, _ := unstructured.NestedFieldNoCopy(d.Object.Object, "metadata", "name")
	namespace, _, _ := unstructured.NestedFieldNoCopy(d.Object.Object, "metadata", "namespace")
	if name == nil {
		return d.Object.GetKind()
	}
	if namespace == nil {
		return fmt.Sprintf("%s %v", d.Object.GetKind(), name)
	}
	return fmt.Sprintf("%s %v/%v", d.Object.GetKind(), namespace, name)
}

// Is reports whether the document is of a kind, in an API version.
func (d Document) Is(kind, apiVersion string) bool {
	return d.Object.GetKind() == kind && d.Object.GetAPIVersion() == apiVersion
}

// DecodeForeign fills an object of a kind that is not ours. An unknown field is a
// warning: it may be a typing error, or of a later version of Cluster API.
func (d Document) DecodeForeign(into any, warnings io.Writer) error {
	strictErr := d.Decode(into)
	if strictErr == nil {
		return nil
	}
	if err := d.Fill(into); err != nil {
		return err
	}
	fmt.Fprintln(warnings, "warning:", strictErr)
	return nil
}

// Fill fills a typed object, and leaves out what it does not know.
func (d Document) Fill(into any) error {
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(d.Object.Object, into); err != nil {
		return fmt.Errorf("%s: %w", d.Name(), err)
	}
	return nil
}

// Decode fills a typed object strictly: an unknown field is an error.
func (d Document) Decode(into any) error {
	text, err := yaml.Marshal(d.Object.Object)
	if err == nil {
		err = yaml.UnmarshalStrict(text, into)
	}
	if kind := d.Object.GetKind(); err != nil && (kind == "Secret" || kind == "ConfigMap") {
		err = errors.New("a field is unknown or of the wrong type") // the details may quote data
	}
	if err != nil {
		if strings.Contains(err.Error(), "parsing time") { // it names no field
			err = fmt.Errorf("a time, as of until, is written as 2026-12-31T18:00:00Z (RFC 3339): %w", err)
		}
		return fmt.Errorf("%s: %w", d.Name(), err)
	}
	return nil
}

var conversion = func() *runtime.Scheme {
	scheme := runtime.NewScheme()
	if err := errors.Join(clusterv1.AddToScheme(scheme), clusterv1beta1.AddToScheme(scheme)); err != nil {
		panic(err) // a bug of this program
	}
	return scheme
}()

// Clusters returns the Clusters among the documents, those of v1beta1 converted.
func Clusters(documents []Document, warnings io.Writer) ([]*clusterv1.Cluster, error) {
	var found []*clusterv1.Cluster
	for _, d := range documents {
		cluster := &clusterv1.Cluster{}
		switch {
		case d.Is("Cluster", clusterv1.GroupVersion.String()):
			if err := d.DecodeForeign(cluster, warnings); err != nil {
				return nil, err
			}
		case d.Is("Cluster", clusterv1beta1.GroupVersion.String()):
			old := &clusterv1beta1.Cluster{}
			if err := d.DecodeForeign(old, warnings); err != nil {
				return nil, err
			}
			if err := conversion.Convert(old, cluster, nil); err != nil {
				return nil, fmt.Errorf("%s: converting to v1beta2: %w", d.Name(), err)
			}
		case d.Object.GetKind() == "Cluster" && d.Object.GroupVersionKind().Group == clusterv1.GroupVersion.Group:
			return nil, fmt.Errorf("%s: apiVersion %s is not supported: expected v1beta1 or v1beta2", d.Name(), d.Object.GetAPIVersion())
		default:
			continue
		}
		if cluster.Namespace == "" {
			cluster.Namespace = "default"
		}
		found = append(found, cluster)
	}
	for _, cluster := range found {
		takeEndpoint(documents, cluster)
	}
	return found, nil
}

// takeEndpoint does what Cluster API does with a Cluster that says no endpoint: it takes the one that its infrastructure or
// control plane says (https://cluster-api.sigs.k8s.io/developer/providers/contracts/infra-cluster).
func takeEndpoint(documents []Document, cluster *clusterv1.Cluster) {
	for _, ref := range []clusterv1.ContractVersionedObjectReference{cluster.Spec.InfrastructureRef, cluster.Spec.ControlPlaneRef} {
		if cluster.Spec.ControlPlaneEndpoint.Host != "" {
			return
		}
		object, _ := Find(documents, ref.APIGroup, ref.Kind, cluster.Namespace, ref.Name)
		endpoint := &cluster.Spec.ControlPlaneEndpoint
		endpoint.Host, _, _ = unstructured.NestedString(object, "spec", "controlPlaneEndpoint", "host")
		port, _, _ := unstructured.NestedInt64(object, "spec", "controlPlaneEndpoint", "port")
		endpoint.Port = int32(port)
	}
}

// OfKind returns the typed objects of one of our kinds among the documents.
func OfKind[T any](documents []Document, kind string) ([]T, error) {
	var found []T
	for _, d := range documents {
		if !d.Is(kind, v1alpha1.GroupVersion.String()) {
			continue
		}
		var object T
		if err := d.Decode(&object); err != nil {
			return nil, err
		}
		found = append(found, object)
	}
	return found, nil
}

// Find returns the object of a kind with a name, if it is among the documents.
func Find(documents []Document, group, kind, namespace, name string) (map[string]any, bool) {
	for _, d := range documents {
		gvk := d.Object.GroupVersionKind()
		if gvk.Group == group && gvk.Kind == kind && d.Object.GetName() == name && cmp.Or(d.Object.GetNamespace(), "default") == namespace {
			return d.Object.Object, true
		}
	}
	return nil, false
}

// InNamespace leaves out documents of another namespace. An empty namespace keeps all. A document that names no
// namespace stays.
func InNamespace(documents []Document, namespace string) []Document {
	return slices.DeleteFunc(documents, func(d Document) bool {
		return namespace != "" && d.Object.GetNamespace() != "" && d.Object.GetNamespace() != namespace
	})
}
