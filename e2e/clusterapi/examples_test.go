package clusterapi_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/internal/core/render"
)

// examples is the folder that users copy from.
const examples = "../../examples/nodes"

func readManifest(path string) ([]*unstructured.Unstructured, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	objects, err := controlplane.ParseStrict(content)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return objects, nil
}

// read returns the objects of a manifest.
func (f *fleet) read(path string) []*unstructured.Unstructured {
	f.Helper()
	objects, err := readManifest(path)
	f.must(err)
	return objects
}

func (f *fleet) example(name string) []*unstructured.Unstructured {
	f.Helper()
	return f.read(filepath.Join(examples, name))
}

// apply creates the objects of manifests in this test's namespace; a field that a kind does not have is an error.
func (f *fleet) apply(paths ...string) {
	f.Helper()
	for _, path := range paths {
		f.must(f.create(f.read(path)...))
	}
}

func (f *fleet) create(objects ...*unstructured.Unstructured) error {
	strict := client.WithFieldValidation(f.client, metav1.FieldValidationStrict)
	for _, object := range objects {
		object.SetNamespace(f.namespace)
		if err := strict.Create(f.Context(), object); err != nil {
			return fmt.Errorf("create %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	return nil
}

// proxyFile is a file of an example whose content comes from the Secret.
type proxyFile struct{ path, permissions, encoding, key string }

// proxyFiles finds them anywhere in an object, whatever a provider calls the reference.
func (f *fleet) proxyFiles(object *unstructured.Unstructured) (found []proxyFile) {
	f.Helper()
	if err := walk(object.Object, func(file map[string]any) {
		for _, reference := range []string{"secret", "secretRef"} {
			name, _, _ := unstructured.NestedString(file, "contentFrom", reference, "name")
			if strings.HasSuffix(name, "-systemd-proxy") {
				key, _, _ := unstructured.NestedString(file, "contentFrom", reference, "key")
				found = append(found, proxyFile{text(file, "path"), text(file, "permissions"), text(file, "encoding"), key})
			}
		}
	}); err != nil {
		f.Fatalf("%s %s: %v", object.GetKind(), object.GetName(), err)
	}
	return found
}

// walk visits every map, also those that the template of a ClusterClass patch yields.
func walk(node any, visit func(map[string]any)) error {
	switch node := node.(type) {
	case map[string]any:
		visit(node)
		for key, child := range node {
			if template, ok := child.(string); ok && key == "template" {
				if err := yaml.Unmarshal([]byte(template), &child); err != nil {
					return fmt.Errorf("template: %w", err)
				}
			}
			if err := walk(child, visit); err != nil {
				return err
			}
		}
	case []any:
		for _, child := range node {
			if err := walk(child, visit); err != nil {
				return err
			}
		}
	}
	return nil
}

func text(object map[string]any, field string) string {
	value, _, _ := unstructured.NestedString(object, field)
	return value
}

// plain is the key whose twin in base64 an example may name.
func plain(key string) string { return strings.TrimSuffix(key, render.TwinSuffix) }
