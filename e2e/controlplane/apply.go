package controlplane

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	utilyaml "sigs.k8s.io/yaml"
)

// fieldOwner is the name under which Apply writes.
const fieldOwner = client.FieldOwner("fairlead-e2e")

// Apply applies manifests of one or several YAML documents on the server's side: CRDs first, then
// namespaces, then the rest in its order. It returns when the CRDs are served.
func (cp *ControlPlane) Apply(ctx context.Context, manifests ...[]byte) error {
	var objects []*unstructured.Unstructured
	for _, manifest := range manifests {
		parsed, err := Parse(manifest)
		if err != nil {
			return err
		}
		objects = append(objects, parsed...)
	}
	return cp.ApplyObjects(ctx, objects...)
}

// ApplyFS applies the .yaml files of a folder, and of the folders in it, as Apply does.
func (cp *ControlPlane) ApplyFS(ctx context.Context, folder fs.FS) error {
	manifest, err := ReadFS(folder)
	if err != nil {
		return fmt.Errorf("read manifests: %w", err)
	}
	return cp.Apply(ctx, manifest)
}

// ApplyObjects is Apply for objects that are parsed already.
func (cp *ControlPlane) ApplyObjects(ctx context.Context, objects ...*unstructured.Unstructured) error {
	objects = slices.Clone(objects)
	slices.SortStableFunc(objects, func(a, b *unstructured.Unstructured) int { return turn(a) - turn(b) })
	split := slices.IndexFunc(objects, func(o *unstructured.Unstructured) bool { return turn(o) != crdTurn })
	if split < 0 {
		split = len(objects)
	}
	if err := cp.applyEach(ctx, objects[:split]); err != nil {
		return err
	}
	if err := cp.awaitServed(ctx, objects[:split]); err != nil {
		return err
	}
	return cp.applyEach(ctx, objects[split:])
}

// applyEach fills in the namespace as kubectl does.
func (cp *ControlPlane) applyEach(ctx context.Context, objects []*unstructured.Unstructured) error {
	for _, object := range objects {
		object = object.DeepCopy() // gets the server's answer
		namespaced, err := cp.client.IsObjectNamespaced(object)
		if namespaced && object.GetNamespace() == "" {
			object.SetNamespace(metav1.NamespaceDefault)
		}
		if err == nil {
			err = cp.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), fieldOwner, client.ForceOwnership)
		}
		if err != nil {
			return fmt.Errorf("apply %s %s: %w", object.GetKind(), client.ObjectKeyFromObject(object), err)
		}
	}
	return nil
}

const (
	crdTurn = iota
	namespaceTurn
	otherTurn
)

func turn(object *unstructured.Unstructured) int {
	kind := object.GroupVersionKind().GroupKind()
	switch {
	case kind.Group == apiextensionsv1.GroupName && kind.Kind == "CustomResourceDefinition":
		return crdTurn
	case kind.Group == "" && kind.Kind == "Namespace":
		return namespaceTurn
	default:
		return otherTurn
	}
}

// Parse splits a manifest of YAML documents. Those with nothing but comments are left out.
func Parse(manifest []byte) ([]*unstructured.Unstructured, error) {
	return parse(manifest, utilyaml.Unmarshal)
}

// ParseStrict refuses a key that stands twice, which YAML readers pass over in silence.
func ParseStrict(manifest []byte) ([]*unstructured.Unstructured, error) {
	return parse(manifest, utilyaml.UnmarshalStrict)
}

func parse(manifest []byte, unmarshal func([]byte, any, ...utilyaml.JSONOpt) error) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	documents := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(manifest)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, fmt.Errorf("split manifest: %w", err)
		}
		object := &unstructured.Unstructured{}
		if err := unmarshal(document, &object.Object); err != nil {
			return nil, fmt.Errorf("parse manifest: %w", err)
		}
		if len(object.Object) > 0 { // more than comments
			objects = append(objects, object)
		}
	}
}

// ReadFS returns the .yaml files of a folder, and of the folders in it, as one manifest.
func ReadFS(folder fs.FS) ([]byte, error) { return readFS(folder, ".") }

// readFS does so for files and folders of a folder.
func readFS(in fs.FS, paths ...string) (manifest []byte, err error) {
	for _, from := range paths {
		err = errors.Join(err, fs.WalkDir(in, from, func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || path.Ext(name) != ".yaml" {
				return err
			}
			content, err := fs.ReadFile(in, name)
			manifest = append(append(manifest, "\n---\n"...), content...)
			return err
		}))
	}
	return manifest, err
}
