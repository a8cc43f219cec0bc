package cli

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	yamlreader "k8s.io/apimachinery/pkg/util/yaml"
	clusterv1beta1 "sigs.k8s.io/cluster-api/api/core/v1beta1" //nolint:staticcheck // people still have such manifests
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

// document is one Kubernetes object of a file.
type document struct {
	file   string
	object unstructured.Unstructured
}

// readFile reads a file, or stdin for "-".
func readFile(name string, stdin io.Reader) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(stdin)
	}
	return os.ReadFile(name)
}

// readDocuments reads the objects of files, and of those in folders: YAML or JSON,
// several documents, and Lists as kubectl prints them.
func readDocuments(files []string, recursive bool, stdin io.Reader) ([]document, error) {
	named, err := inFolders(files, recursive)
	if err != nil {
		return nil, err
	}
	var all []document
	for _, file := range named {
		data, err := readFile(file, stdin)
		if err != nil {
			return nil, err
		}
		reader := yamlreader.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
		for number := 1; ; number++ {
			text, err := reader.Read()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				// The reader's own words quote what follows the separator.
				return nil, fmt.Errorf("%s: document %d: --- must stand alone on its line", file, number)
			}
			documents, err := parseDocument(file, text)
			if err != nil {
				return nil, fmt.Errorf("%s: document %d: %w", file, number, err)
			}
			all = append(all, documents...)
		}
	}
	return all, nil
}

func parseDocument(file string, text []byte) ([]document, error) {
	var content map[string]any
	// The parser's own words may quote the text, which may be a Secret.
	if err := yaml.Unmarshal(text, &content); err != nil {
		return nil, errors.New("not valid YAML, or not a Kubernetes object")
	}
	if len(content) == 0 {
		return nil, nil
	}
	object := unstructured.Unstructured{Object: content}
	if object.GetKind() == "" || object.GetAPIVersion() == "" {
		return nil, errors.New("not a Kubernetes object: apiVersion or kind is missing")
	}
	if !object.IsList() {
		return []document{{file, object}}, nil
	}
	var items []document
	err := object.EachListItem(func(item runtime.Object) error {
		items = append(items, document{file, *item.(*unstructured.Unstructured)}) //nolint:forcetypeassert // of an Unstructured
		return nil
	})
	return items, err
}

// name says which object it is.
func (d document) name() string {
	if d.object.GetNamespace() == "" {
		return fmt.Sprintf("%s: %s %s", d.file, d.object.GetKind(), d.object.GetName())
	}
	return fmt.Sprintf("%s: %s %s/%s", d.file, d.object.GetKind(), d.object.GetNamespace(), d.object.GetName())
}

// is reports whether the document is of a kind, in any of the API versions.
func (d document) is(kind string, apiVersions ...string) bool {
	for _, version := range apiVersions {
		if d.object.GetKind() == kind && d.object.GetAPIVersion() == version {
			return true
		}
	}
	return false
}

// decodeForeign fills an object of a kind that is not ours. An unknown field is a
// warning: it may be a typing error, or of a later version of Cluster API.
func (d document) decodeForeign(into any, warnings io.Writer) error {
	strictErr := d.decode(into)
	if strictErr == nil {
		return nil
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(d.object.Object, into); err != nil {
		return fmt.Errorf("%s: %w", d.name(), err)
	}
	fmt.Fprintln(warnings, "warning:", strictErr)
	return nil
}

// decode fills a typed object strictly: an unknown field is an error.
func (d document) decode(into any) error {
	text, err := yaml.Marshal(d.object.Object)
	if err == nil {
		err = yaml.UnmarshalStrict(text, into)
	}
	if kind := d.object.GetKind(); err != nil && (kind == "Secret" || kind == "ConfigMap") {
		err = errors.New("a field is unknown or of the wrong type") // the details may quote data
	}
	if err != nil {
		return fmt.Errorf("%s: %w", d.name(), err)
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

// clusters returns the Clusters among the documents, those of v1beta1 converted.
func clusters(documents []document, warnings io.Writer) ([]*clusterv1.Cluster, error) {
	var found []*clusterv1.Cluster
	for _, d := range documents {
		cluster := &clusterv1.Cluster{}
		switch {
		case d.is("Cluster", clusterv1.GroupVersion.String()):
			if err := d.decodeForeign(cluster, warnings); err != nil {
				return nil, err
			}
		case d.is("Cluster", clusterv1beta1.GroupVersion.String()):
			old := &clusterv1beta1.Cluster{}
			if err := d.decodeForeign(old, warnings); err != nil {
				return nil, err
			}
			if err := conversion.Convert(old, cluster, nil); err != nil {
				return nil, fmt.Errorf("%s: converting to v1beta2: %w", d.name(), err)
			}
		case d.object.GetKind() == "Cluster" && d.object.GroupVersionKind().Group == clusterv1.GroupVersion.Group:
			return nil, fmt.Errorf("%s: apiVersion %s is not supported: expected v1beta1 or v1beta2", d.name(), d.object.GetAPIVersion())
		default:
			continue
		}
		if cluster.Namespace == "" {
			cluster.Namespace = "default"
		}
		found = append(found, cluster)
	}
	return found, nil
}

// ofKind returns the typed objects of one of our kinds among the documents.
func ofKind[T any](documents []document, kind string) ([]T, error) {
	var found []T
	for _, d := range documents {
		if !d.is(kind, v1alpha1.GroupVersion.String()) {
			continue
		}
		var object T
		if err := d.decode(&object); err != nil {
			return nil, err
		}
		found = append(found, object)
	}
	return found, nil
}
