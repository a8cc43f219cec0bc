package app_test

import (
	"fmt"
	"maps"

	"sigs.k8s.io/yaml"
)

// layers are what an App names, in the order catalog, config, user config; nil where a level names nothing.
type layers struct{ configMaps, secrets []map[string][]byte }

// merge stands in for pkg/values of giantswarm/app, whose module cannot be had here. It is written after what that
// does: a layer has exactly one key, whatever it is called; ConfigMaps are merged in their order, Secrets in theirs,
// and Secrets over ConfigMaps; maps are merged, everything else is replaced, lists as well.
func merge(l layers) (map[string]any, error) {
	merged := map[string]any{}
	for _, layer := range append(l.configMaps, l.secrets...) {
		if layer == nil {
			continue
		}
		if len(layer) != 1 {
			return nil, fmt.Errorf("expected only one key but got %d", len(layer))
		}
		for _, text := range layer {
			var values map[string]any
			if err := yaml.Unmarshal(text, &values); err != nil {
				return nil, err
			}
			merged = over(merged, values)
		}
	}
	return merged, nil
}

func over(below, above map[string]any) map[string]any {
	result := maps.Clone(below)
	for key, value := range above {
		lower, isMap := result[key].(map[string]any)
		upper, areMaps := value.(map[string]any)
		if isMap && areMaps {
			value = over(lower, upper)
		}
		result[key] = value
	}
	return result
}
