// Package provider_test holds internal/core/provider/providers.yaml against the CustomResourceDefinitions that
// the infrastructure providers ship: a field that a release renames or drops is found here and not by a
// cluster whose list lacks its network. It has tests alone. It reads the table as text and walks its
// paths by itself: an error in the package's own reading of paths would otherwise agree with itself.
//
// Run it with -count=1: the go command's cache of test results does not see files of another module.
package provider_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/core/provider"
)

const providerPackage = "../../internal/core/provider"

type row struct {
	Group, Kind string
	Facts       []fact
}

type fact struct {
	Name     string
	Paths    []string
	Required bool
	Network  *struct{ Address, Prefix string }
}

func (r row) name() string { return r.Kind + "." + r.Group }

func TestEveryPathOfTheTableIsInTheProvidersRealCRD(t *testing.T) {
	for _, row := range readTable(t) {
		t.Run(row.name(), func(t *testing.T) {
			if reason, ok := unchecked[row.name()]; ok {
				if len(row.Facts) > 0 {
					t.Fatal("has paths that no CRD was read for")
				}
				t.Log(reason)
				return
			}
			versions := readCRD(t, row.name()).Spec.Versions
			for _, fact := range row.Facts {
				for _, problem := range fact.problems(versions) {
					t.Errorf("fact %s: %s", fact.Name, problem)
				}
			}
		})
	}
}

// problems requires of a fact: each of its paths is in a version that the API server serves; one of them
// is in the storage version; and, when it is required, in every served version, since a cluster that is
// read in a version without the field would wait forever.
func (f fact) problems(versions []version) []string {
	var found []string
	in := map[string]int{} // how many of the paths a version has
	for _, path := range f.Paths {
		var err error
		known := false
		for _, version := range versions {
			if failed := f.check(version.Schema.OpenAPIV3Schema, path); failed != nil {
				err = failed
				continue
			}
			in[version.Name]++
			known = known || version.Served
		}
		if !known {
			found = append(found, fmt.Sprintf("in no served version: %v", err))
		}
	}
	for _, version := range versions {
		if (version.Storage || version.Served && f.Required) && in[version.Name] == 0 {
			found = append(found, "no path is in version "+version.Name)
		}
	}
	return found
}

func TestTheRealisticObjectsOfTheUnitTestsHaveNoFieldThatTheRealCRDLacks(t *testing.T) {
	for _, file := range globbed(t, providerPackage+"/testdata/objects/*.yaml") {
		var object map[string]any
		readYAML(t, file, &object)
		group, version, _ := strings.Cut(object["apiVersion"].(string), "/")
		name := object["kind"].(string) + "." + group
		t.Run(name, func(t *testing.T) {
			if reason, ok := unchecked[name]; ok {
				t.Skip(reason)
			}
			delete(object, "metadata")
			for _, served := range readCRD(t, name).Spec.Versions {
				if served.Name == version {
					for _, stranger := range served.Schema.OpenAPIV3Schema.strangers(object, "") {
						t.Error(stranger)
					}
					return
				}
			}
			t.Errorf("there is no version %s", version)
		})
	}
}

func TestWhatMakesTheMachinesStandsWhereItIsReadInTheProvidersRealCRD(t *testing.T) {
	found := 0
	for name := range sources {
		kind, group, _ := strings.Cut(name, ".")
		api, known := provider.APIOf(group, kind)
		if !known {
			continue
		}
		found++
		t.Run(name, func(t *testing.T) {
			for _, version := range readCRD(t, name).Spec.Versions {
				end, err := version.Schema.OpenAPIV3Schema.at(api.Path)
				if version.Storage && (err != nil || end.Type != "string") {
					t.Errorf("%s of %s: %q, %v", api.Path, version.Name, end.Type, err)
				}
			}
		})
	}
	if found != 3 {
		t.Errorf("%d kinds name it", found)
	}
}

// check is the path's end being what the fact reads: a string, or an object with the parts of a network.
func (f fact) check(root schema, path string) error {
	end, err := root.at(path)
	if err != nil {
		return err
	}
	if f.Network == nil {
		if end.Type != "string" {
			return fmt.Errorf("%s: is a %s", path, end.Type)
		}
		return nil
	}
	if address := end.Properties[f.Network.Address].Type; address != "string" {
		return fmt.Errorf("%s.%s: is a %q", path, f.Network.Address, address)
	}
	if prefix := end.Properties[f.Network.Prefix].Type; prefix != "integer" {
		return fmt.Errorf("%s.%s: is a %q", path, f.Network.Prefix, prefix)
	}
	return nil
}

// readTable reads the rows, each of which must be in sources or in unchecked.
func readTable(t *testing.T) []row {
	t.Helper()
	var table struct{ Rows []row }
	readYAML(t, providerPackage+"/providers.yaml", &table)
	if len(table.Rows) == 0 {
		t.Fatal("the table has no rows")
	}
	for _, row := range table.Rows {
		_, read := sources[row.name()]
		if _, skipped := unchecked[row.name()]; read == skipped {
			t.Fatalf("%s must be in exactly one of sources and unchecked", row.name())
		}
	}
	return table.Rows
}
