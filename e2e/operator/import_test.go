package operator_test

import (
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/e2e/command"
	"github.com/fairlead-io/fairlead/e2e/operator"
)

// A dry run says what the API server thinks of all that fairlead import makes, by itself and of several files together.
func TestWhatImportMakesIsTakenAsItIs(t *testing.T) {
	f := newFixture(t)
	const folder = "../../examples/import"
	files, err := filepath.Glob(folder + "/*")
	f.must(err)
	imports := map[string][]string{"clusters of one proxy": {"-f", folder + "/eks-anywhere.yaml", "-f", folder + "/caren.yaml", "-f", folder + "/tkg.yaml"}}
	for _, file := range files {
		imports[filepath.Base(file)] = []string{"-f", file}
	}
	for _, name := range []string{"org-acme", "eksa-system"} {
		f.must(client.IgnoreAlreadyExists(f.client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})))
	}
	kinds := map[string]int{}
	for name, arguments := range imports {
		t.Run(name, func(t *testing.T) {
			for _, object := range importedBy(t, arguments) {
				kinds[object.GetKind()]++
				if err := f.client.Create(t.Context(), &object, client.DryRunAll); err != nil {
					t.Errorf("%s %s: %v", object.GetKind(), object.GetName(), err)
				}
			}
		})
	}
	if kinds["CorporateProxy"] != len(imports) || kinds["ProxyOverride"] != 3 || kinds["Secret"] != 3 {
		t.Errorf("%v of %d imports", kinds, len(imports))
	}
}

func importedBy(t *testing.T, arguments []string) []unstructured.Unstructured {
	t.Helper()
	arguments = append([]string{"import", "--name", "imported", "--operator-namespace", operator.Namespace, "-o", "json"}, arguments...)
	out := command.Output(t, nil, arguments...)
	var list struct{ Items []map[string]any }
	if err := yaml.Unmarshal(out, &list); err != nil {
		t.Fatal(err)
	}
	var objects []unstructured.Unstructured
	for _, item := range list.Items {
		objects = append(objects, unstructured.Unstructured{Object: item})
	}
	return objects
}
