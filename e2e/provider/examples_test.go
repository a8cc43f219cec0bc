package provider_test

import (
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/tools"
)

func TestMain(m *testing.M) { controlplanetest.Main(m) }

const examplesFolder = "../../examples"

// exampleSources has the files with the CRDs of the kinds in the examples, besides Cluster API's own. Both folders of K3s
// have old copies of what the other one ships.
var exampleSources = []source{
	all(capa), all(capz), all(capg), all(capo), all(capv), all(capmox), all(capx), all(capd),
	{"github.com/k3s-io/cluster-api-k3s", "bootstrap/" + bases + "/bootstrap*.yaml"},
	{"github.com/k3s-io/cluster-api-k3s", "controlplane/" + bases + "/controlplane*.yaml"},
	all(source{"github.com/siderolabs/cluster-api-bootstrap-provider-talos", bases}),
}

// softwareSources have the CRDs of who installs software. Sveltos is in no module that can be had.
var softwareSources = []source{{"github.com/argoproj/argo-cd/v3", "manifests/crds/applicationset-crd.yaml"}}

func all(of source) source { return source{of.module, of.folder + "/*.yaml"} }

// copiedCRDs has the CRDs of RKE2 and k0smotron; each file names its release.
const copiedCRDs = "../clusterapi/testdata/crds"

// The examples of providers come with those of nodes, which have no row of their own.
func TestExamplesAreTakenByTheirRealCRDsAsThePageSays(t *testing.T) {
	cp := controlplanetest.Shared(t, controlplane.ClusterAPI)
	for _, of := range []struct {
		page    string
		folders []string // each file of the first has a row
		sources []source
	}{
		{"../../docs/how-to/providers.md", []string{"providers", "nodes"}, exampleSources},
		{"../../docs/how-to/software.md", []string{"software"}, softwareSources},
	} {
		examples := readExamples(t, of.folders...)
		rows := pageRows(t, of.page)
		for name := range examples {
			if _, ok := rows[name]; !ok && strings.HasPrefix(name, of.folders[0]+"/") {
				t.Errorf("%s has no row in %s", name, of.page)
			}
		}
		controlplanetest.Require(t, cp.ApplyObjects(t.Context(), exampleCRDs(t, of.sources, examples)...))
		for name, checked := range rows {
			t.Run(name, func(t *testing.T) { checkExample(t, cp, examples[name], checked) })
		}
	}
}

// Argo CD itself does not run here.
func TestTheApplicationOfThePageOfInstallationIsTakenByArgoCDsRealCRD(t *testing.T) {
	_, section, _ := strings.Cut(string(controlplanetest.ReadFile(t, "../../docs/how-to/install.md")), "## With Argo CD\n")
	_, section, _ = strings.Cut(section, "```yaml\n")
	section, _, _ = strings.Cut(section, "```")
	objects, err := controlplane.Parse([]byte(section))
	controlplanetest.Require(t, err)
	if len(objects) != 1 {
		t.Fatalf("the page has %d objects", len(objects))
	}
	cp := controlplanetest.Shared(t, controlplane.ClusterAPI)
	sources := []source{{"github.com/argoproj/argo-cd/v3", "manifests/crds/application-crd.yaml"}}
	controlplanetest.Require(t, cp.ApplyObjects(t.Context(), exampleCRDs(t, sources, map[string][]*unstructured.Unstructured{"": objects})...))
	if unknown := createStrictly(t, cp, objects); len(unknown) > 0 {
		t.Errorf("unknown: %v", unknown)
	}
}

// checkExample compares what a page says of a file with what the API server says of its objects.
func checkExample(t *testing.T, cp *controlplane.ControlPlane, objects []*unstructured.Unstructured, checked string) {
	t.Helper()
	if len(objects) == 0 {
		t.Fatal("the page has a row for it, and there is no such file")
	}
	want := "tested"
	if unknown := createStrictly(t, cp, objects); len(unknown) > 0 {
		want = "read: " + strings.Join(unknown, ", ")
	}
	if checked != want {
		t.Errorf("the page says %q, it is %q", checked, want)
	}
}

// readExamples are the objects of each file of the folders, by its path in the folder of examples.
func readExamples(t *testing.T, folders ...string) map[string][]*unstructured.Unstructured {
	t.Helper()
	found := map[string][]*unstructured.Unstructured{}
	for _, folder := range folders {
		for _, file := range globbed(t, filepath.Join(examplesFolder, folder, "*.yaml")) {
			found[folder+"/"+filepath.Base(file)] = parsed(t, file)
		}
	}
	return found
}

func parsed(t *testing.T, file string) []*unstructured.Unstructured {
	t.Helper()
	objects, err := controlplane.Parse(controlplanetest.ReadFile(t, file))
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return objects
}

// pageRow is a row of the table of examples: its file, and what was checked.
var pageRow = regexp.MustCompile(`(?m)^\| \[[^]]+\]\(\.\./\.\./examples/([^)]+)\) \|[^|]*\|([^|]*)\|`)

func pageRows(t *testing.T, page string) map[string]string {
	t.Helper()
	rows := map[string]string{}
	for _, match := range pageRow.FindAllStringSubmatch(string(controlplanetest.ReadFile(t, page)), -1) {
		rows[match[1]] = strings.TrimSpace(match[2])
	}
	if len(rows) == 0 {
		t.Fatal("the page has no rows")
	}
	return rows
}

// exampleCRDs returns the CRDs of the kinds in the examples; a provider has many more.
func exampleCRDs(t *testing.T, sources []source, examples map[string][]*unstructured.Unstructured) []*unstructured.Unstructured {
	t.Helper()
	used := map[string]bool{}
	for _, objects := range examples {
		for _, object := range objects {
			used[object.GroupVersionKind().GroupKind().String()] = true
		}
	}
	patterns := []string{copiedCRDs + "/*.yaml"}
	for _, from := range sources {
		dir, err := tools.ModuleDir(t.Context(), toolModule, from.module)
		controlplanetest.Require(t, err)
		patterns = append(patterns, filepath.Join(dir, filepath.FromSlash(from.folder)))
	}
	found := map[string]*unstructured.Unstructured{}
	for _, pattern := range patterns {
		for _, file := range globbed(t, pattern) {
			for _, crd := range parsed(t, file) {
				if used[kindOf(crd)] {
					found[crd.GetName()] = crd
				}
			}
		}
	}
	return slices.Collect(maps.Values(found))
}

func kindOf(crd *unstructured.Unstructured) string {
	kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
	group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
	return kind + "." + group
}

// createStrictly creates the objects and returns the kinds that the API server does not know. A field that a kind does
// not have is an error.
func createStrictly(t *testing.T, cp *controlplane.ControlPlane, objects []*unstructured.Unstructured) []string {
	t.Helper()
	strict := client.WithFieldValidation(controlplanetest.Client(t, cp.Admin(), nil), metav1.FieldValidationStrict)
	namespace := controlplanetest.Namespace(t, cp)
	var unknown []string
	for _, object := range objects {
		object.SetNamespace(namespace)
		controlplanetest.Require(t, playDefaulting(object))
		err := strict.Create(t.Context(), object)
		switch {
		case meta.IsNoMatchError(err):
			if !slices.Contains(unknown, object.GetKind()) {
				unknown = append(unknown, object.GetKind())
			}
		case err != nil:
			t.Errorf("%s %s: %v", object.GetKind(), object.GetName(), err)
		}
	}
	slices.Sort(unknown)
	return unknown
}

// playDefaulting adds the defaults of Cluster API's webhook, which does not run here, before the fields are checked.
func playDefaulting(object *unstructured.Unstructured) error {
	if object.GetKind() != "MachineDeployment" {
		return nil
	}
	labels := map[string]string{"cluster.x-k8s.io/deployment-name": object.GetName()}
	for _, at := range [][]string{{"spec", "selector", "matchLabels"}, {"spec", "template", "metadata", "labels"}} {
		if err := unstructured.SetNestedStringMap(object.Object, labels, at...); err != nil {
			return err
		}
	}
	return nil
}

func globbed(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no files %s: %v", pattern, err)
	}
	return files
}
