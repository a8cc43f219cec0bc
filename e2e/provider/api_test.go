package provider_test

import (
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/core/provider"
)

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
