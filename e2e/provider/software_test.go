package provider_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
)

const (
	softwarePage   = "../../docs/how-to/software.md"
	softwareFolder = "software"
)

// softwareSources have the CRDs of who installs software. Sveltos is in no module that can be had.
var softwareSources = []source{{"github.com/argoproj/argo-cd/v3", "manifests/crds/applicationset-crd.yaml"}}

func TestExamplesOfSoftwareAreTakenByTheirRealCRDsAsThePageSays(t *testing.T) {
	examples := readExamples(t, softwareFolder)
	rows := pageRows(t, softwarePage)
	for name := range examples {
		if _, ok := rows[name]; !ok {
			t.Errorf("%s has no row in %s", name, softwarePage)
		}
	}
	cp := controlplanetest.Shared(t, controlplane.ClusterAPI)
	controlplanetest.Require(t, cp.ApplyObjects(t.Context(), exampleCRDs(t, softwareSources, examples)...))
	for name, checked := range rows {
		t.Run(name, func(t *testing.T) { checkExample(t, cp, examples[name], checked) })
	}
}

// Argo CD itself does not run here.
func TestTheApplicationOfThePageOfInstallationIsTakenByArgoCDsRealCRD(t *testing.T) {
	_, section, _ := strings.Cut(readFile(t, "../../docs/how-to/install.md"), "## With Argo CD\n")
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

// Whoever reads "tested" shall know with what.
func TestThePageOfSoftwareNamesTheVersionOfArgoCD(t *testing.T) {
	file := filepath.Join("..", "tools", toolModule, "go.mod")
	text, err := os.ReadFile(file)
	controlplanetest.Require(t, err)
	module, err := modfile.Parse(file, text, nil)
	controlplanetest.Require(t, err)
	for _, r := range module.Require {
		if r.Mod.Path == softwareSources[0].module && !strings.Contains(readFile(t, softwarePage), "Argo CD "+r.Mod.Version) {
			t.Errorf("%s does not say that the CRD is of %s", softwarePage, r.Mod.Version)
		}
	}
}
