package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// corporateProxySpec returns the schema of a CorporateProxy's spec as JSON Schema: the API server drops a field that it
// does not know, Helm is to refuse it.
func corporateProxySpec(crd []byte) (map[string]any, error) {
	var content struct {
		Spec struct {
			Versions []struct {
				Schema map[string]struct {
					Properties map[string]map[string]any
				}
			}
		}
	}
	if err := yaml.Unmarshal(crd, &content); err != nil {
		return nil, fmt.Errorf("CRD of CorporateProxy: %w", err)
	}
	if len(content.Spec.Versions) != 1 {
		return nil, errors.New("CRD of CorporateProxy: it has not exactly one version")
	}
	spec := content.Spec.Versions[0].Schema["openAPIV3Schema"].Properties["spec"]
	if spec["properties"] == nil {
		return nil, errors.New("CRD of CorporateProxy: its spec has no properties")
	}
	delete(spec, "required") // the chart adds source
	return spec, walk(spec, "", toJSONSchema)
}

// toJSONSchema takes away what JSON Schema does not have, and patterns: there may be a password where none belongs.
func toJSONSchema(_ string, at map[string]any) error {
	maps.DeleteFunc(at, func(key string, value any) bool {
		_, ok := value.(string)
		return strings.HasPrefix(key, "x-kubernetes-") || ok && slices.Contains([]string{"format", "pattern"}, key)
	})
	if description, ok := at["description"].(string); ok {
		at["description"] = strings.ReplaceAll(description, "\n", " ")
	}
	if at["type"] == "object" && at["additionalProperties"] == nil {
		at["additionalProperties"] = false
	}
	return nil
}
