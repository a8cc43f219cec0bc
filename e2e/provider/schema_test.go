package provider_test

import (
	"fmt"
	"strings"
)

// schema is the part of an OpenAPI schema that says which fields there are.
type schema struct {
	Type                 string
	Properties           map[string]schema
	Items                *schema
	AdditionalProperties *schema
	PreserveUnknown      bool `json:"x-kubernetes-preserve-unknown-fields"`
}

// at follows a path of the table: field names with dots, [] for the elements of a list, {} for the
// values of a map.
func (s schema) at(path string) (schema, error) {
	spaced := strings.NewReplacer("[]", " []", "{}", " {}", ".", " ").Replace(path)
	for _, step := range strings.Fields(spaced) {
		switch {
		case step == "[]" && s.Type == "array" && s.Items != nil:
			s = *s.Items
		case step == "{}" && s.Type == "object" && s.AdditionalProperties != nil:
			s = *s.AdditionalProperties
		default:
			field, ok := s.Properties[step]
			if !ok {
				return schema{}, fmt.Errorf("%s: there is no %s in a %s", path, step, s.Type)
			}
			s = field
		}
	}
	return s, nil
}

// strangers returns the fields of a value that the schema does not have or has with another type.
func (s schema) strangers(value any, at string) []string {
	var found []string
	switch value := value.(type) {
	case map[string]any:
		for key, child := range value {
			field, ok := s.Properties[key]
			switch {
			case ok:
				found = append(found, field.strangers(child, at+"."+key)...)
			case s.AdditionalProperties != nil:
				found = append(found, s.AdditionalProperties.strangers(child, at+"{}")...)
			case !s.PreserveUnknown:
				found = append(found, at+"."+key)
			}
		}
	case []any:
		if s.Items == nil {
			return []string{at + ": is no list"}
		}
		for _, child := range value {
			found = append(found, s.Items.strangers(child, at+"[]")...)
		}
	default:
		if want := map[string]string{"string": "string", "bool": "boolean", "float64": "integer"}[fmt.Sprintf("%T", value)]; s.Type != want {
			found = append(found, fmt.Sprintf("%s: is a %s, not a %s", at, s.Type, want))
		}
	}
	return found
}
