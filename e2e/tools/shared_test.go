package tools

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"golang.org/x/mod/modfile"

	"github.com/fairlead-io/fairlead/e2e/repository"
)

// What nearly everything is built on. A package is compiled once for each set of versions below it: where one of these
// differs between two programs, they have next to nothing in common, and a first build takes minutes more.
var foundations = regexp.MustCompile(`^(golang\.org/x/|google\.golang\.org/protobuf$|(sigs\.)?k8s\.io/|go\.opentelemetry\.io/otel|github\.com/(prometheus|go-openapi|go-logr)/)`)

// Modules of which a program has a version of its own, by the folder of its module. Empty: in each folder.
var ownVersions = map[string]*regexp.Regexp{
	"": regexp.MustCompile(`^sigs\.k8s\.io/apiserver-network-proxy`), // what is tested in several versions
	// fluxcd/pkg/ssa takes no k8s.io/api without autoscaling/v2beta2.
	"e2e/tools/flux-helm-controller": regexp.MustCompile(`k8s\.io/`),
	// Its stores are not those of k8s.io/client-go 0.36.
	"e2e/tools/kube-state-metrics": regexp.MustCompile(`k8s\.io/`),
}

func TestProgramsShareTheVersionsBelowThem(t *testing.T) {
	files, err := filepath.Glob(repository.Path("e2e", "tools", "*", "go.mod"))
	if err != nil || len(files) < 15 {
		t.Fatalf("%d tool modules, %v", len(files), err)
	}
	files = append(files, repository.Path("e2e", "go.mod"), repository.Path("go.mod"))
	folders := map[string]map[string][]string{} // by module and version
	for _, file := range files {
		folder, err := filepath.Rel(repository.Path(), filepath.Dir(file))
		if err != nil {
			t.Fatal(err)
		}
		for module, version := range versions(t, file) {
			if !foundations.MatchString(module) || ownVersions[""].MatchString(module) || matches(ownVersions[folder], module) {
				continue
			}
			if folders[module] == nil {
				folders[module] = map[string][]string{}
			}
			folders[module][version] = append(folders[module][version], folder)
		}
	}
	if len(folders) < 50 {
		t.Errorf("%d modules that are shared", len(folders))
	}
	for module, of := range folders {
		if len(of) > 1 {
			t.Errorf("%s has several versions: %v. Bring them together with go get in the older ones", module, of)
		}
	}
}

func matches(own *regexp.Regexp, module string) bool { return own != nil && own.MatchString(module) }

// versions returns the modules that a go.mod requires, with their versions: with that before a replacement too, which is in
// the paths that a program has. A module that is replaced by another one is left out.
func versions(t *testing.T, file string) map[string]string {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := modfile.Parse(file, content, nil)
	if err != nil {
		t.Fatal(err)
	}
	of := map[string]string{}
	for _, require := range parsed.Require {
		of[require.Mod.Path] = require.Mod.Version
	}
	for _, replace := range parsed.Replace {
		if required := of[replace.Old.Path]; required != "" && required != replace.New.Version {
			of[replace.Old.Path] = required + " => " + replace.New.Version
		}
		if replace.New.Path != replace.Old.Path {
			delete(of, replace.Old.Path)
		}
	}
	return of
}
