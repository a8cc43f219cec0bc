package release_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/tools"
)

// kindsTwice applies two objects of every kind: one with every field, and one without those that have a default. Whoever applies
// them twice changes nothing the second time, not even managedFields or resourceVersion. No operator runs.
func kindsTwice(t *testing.T, cp *controlplane.ControlPlane, crds []*unstructured.Unstructured) {
	t.Helper()
	for _, definition := range crds {
		var crd apiextensionsv1.CustomResourceDefinition
		controlplanetest.Require(t, runtime.DefaultUnstructuredConverter.FromUnstructured(definition.Object, &crd))
		namespace := ""
		if crd.Spec.Scope == apiextensionsv1.NamespaceScoped {
			namespace = controlplanetest.Namespace(t, cp)
		}
		for _, s := range []sample{complete, defaulted} {
			object := s.object(crd)
			object.SetNamespace(namespace)
			t.Run(object.GetKind()+" "+object.GetName(), func(t *testing.T) { twice(t, cp, object) })
		}
	}
}

func twice(t *testing.T, cp *controlplane.ControlPlane, object *unstructured.Unstructured) {
	t.Helper()
	admin := controlplanetest.Client(t, cp.Admin(), nil)
	content, err := yaml.Marshal(object.Object)
	controlplanetest.Require(t, err)
	file := filepath.Join(t.TempDir(), "object.yaml")
	controlplanetest.Require(t, os.WriteFile(file, content, 0o600))
	flux := func() error { // as kustomize-controller does where a dry run differs
		applied := object.DeepCopy()
		delete(applied.Object, "status")
		return admin.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(applied), client.FieldOwner("kustomize-controller"), client.ForceOwnership)
	}
	current := func() map[string]any {
		got := &unstructured.Unstructured{}
		got.SetGroupVersionKind(object.GroupVersionKind())
		controlplanetest.Require(t, admin.Get(t.Context(), client.ObjectKeyFromObject(object), got))
		return got.Object
	}
	// In the order of the managers' names: the API server sorts by second, then by name, and a new order is a change to it.
	for _, writer := range []struct {
		name  string
		apply func() error
	}{
		{"kubectl apply --server-side", func() error { return kubectl(t, cp, file, "--server-side") }},
		{"kubectl apply --subresource=status", func() error { return kubectl(t, cp, file, "--server-side", "--subresource=status") }},
		{"Flux", flux},
		{"kubectl apply", func() error { return kubectl(t, cp, file) }},
	} {
		controlplanetest.Require(t, writer.apply())
		before := current()
		controlplanetest.Require(t, writer.apply())
		if diff := cmp.Diff(before, current()); diff != "" {
			t.Errorf("%s, applied again (-before +after):\n%s", writer.name, diff)
		}
	}
	if object.GetName() != string(complete) {
		return
	}
	for _, part := range []string{"spec", "status"} {
		if diff := cmp.Diff(object.Object[part], current()[part]); diff != "" {
			t.Errorf("the API server keeps another %s (-applied +stored):\n%s", part, diff)
		}
	}
}

func kubectl(t *testing.T, cp *controlplane.ControlPlane, file string, flags ...string) error {
	t.Helper()
	program := controlplanetest.Tool(t, tools.Kubectl)
	cmd := exec.CommandContext(t.Context(), program, append([]string{"apply", "--kubeconfig", cp.AdminKubeconfig(), "-f", file}, flags...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}

// sample is an object that may be, by its name.
type sample string

const (
	complete  sample = "complete"  // every field, and two elements in each list
	defaulted sample = "defaulted" // without those that have a default
)

func (s sample) object(crd apiextensionsv1.CustomResourceDefinition) *unstructured.Unstructured {
	version := crd.Spec.Versions[0]
	object := &unstructured.Unstructured{Object: map[string]any{}}
	for _, part := range []string{"spec", "status"} {
		if schema, has := version.Schema.OpenAPIV3Schema.Properties[part]; has {
			object.Object[part] = s.value(part, schema, 0)
		}
	}
	unstructured.RemoveNestedField(object.Object, "spec", "source", "valuesRef") // there is url
	object.SetAPIVersion(crd.Spec.Group + "/" + version.Name)
	object.SetKind(crd.Spec.Names.Kind)
	object.SetName(string(s))
	return object
}

// value is one that a schema takes, another one for each n.
func (s sample) value(name string, schema apiextensionsv1.JSONSchemaProps, n int) any {
	switch {
	case schema.XIntOrString:
		return "50%"
	case schema.Type == "array":
		return []any{s.value(name, *schema.Items.Schema, 0), s.value(name, *schema.Items.Schema, 1)}
	case schema.Type == "object" && schema.AdditionalProperties != nil:
		return map[string]any{"a": s.value(name, *schema.AdditionalProperties.Schema, n)}
	case schema.Type == "object":
		fields := map[string]any{}
		for field, of := range schema.Properties {
			if s == complete || of.Default == nil {
				fields[field] = s.value(field, of, n)
			}
		}
		return fields
	case schema.Type == "integer":
		return int64(n + 2)
	case schema.Type == "boolean":
		return true
	}
	return text(name, schema, n)
}

func text(name string, schema apiextensionsv1.JSONSchemaProps, n int) string {
	switch {
	case name == "operator": // of a label selector
		return "In"
	case schema.Format == "date-time":
		return fmt.Sprintf("203%d-01-02T03:04:05Z", n)
	case len(schema.Enum) > 0:
		var one string
		_ = yaml.Unmarshal(schema.Enum[n%len(schema.Enum)].Raw, &one)
		return one
	}
	for _, sample := range []string{"a%d", "%dm", "a%d.service", "/a%d", "https://a%d.example"} {
		if written := fmt.Sprintf(sample, n); regexp.MustCompile(schema.Pattern).MatchString(written) {
			return written
		}
	}
	panic("no sample matches " + schema.Pattern)
}
