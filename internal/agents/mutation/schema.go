package mutation

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// checkSchema returns every violation of the chart's schema. Helm's own messages quote a value that does not
// match.
func checkSchema(values map[string]any, text []byte) error {
	schema, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	const name = "values.schema.json"
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource(name, schema); err != nil {
		return err
	}
	compiled, err := compiler.Compile(name)
	if err != nil {
		return err
	}
	err = compiled.Validate(values)
	if invalid := new(jsonschema.ValidationError); errors.As(err, &invalid) {
		said := breaches(invalid)
		slices.Sort(said) // the library goes through maps
		return errors.New(strings.Join(slices.Compact(said), "; "))
	}
	return err
}

// breaches returns the mistakes, each with the path of its field.
func breaches(e *jsonschema.ValidationError) []string {
	var below []string
	for _, cause := range e.Causes {
		below = append(below, breaches(cause)...)
	}
	at := strings.Join(e.InstanceLocation, ".")
	switch k := e.ErrorKind.(type) {
	case *kind.AnyOf:
		return []string{strings.Join(below, ", or ")}
	case *kind.PropertyNames:
		return []string{fmt.Sprintf("%s: %s", strings.TrimPrefix(at+"."+k.Property, "."), strings.TrimSpace(strings.Join(below, ", ")))}
	case *kind.AdditionalProperties:
		for _, key := range k.Properties {
			below = append(below, fmt.Sprintf("%s: unknown field %q", at, key))
		}
		return below
	case *kind.Required:
		for _, key := range k.Missing {
			below = append(below, strings.TrimPrefix(at+"."+key, ".")+" is missing")
		}
		return below
	}
	if len(below) > 0 {
		return below
	}
	return []string{at + " " + breach(e.ErrorKind)}
}

// breach describes a violation by a field itself.
func breach(of jsonschema.ErrorKind) string {
	switch k := of.(type) {
	case *kind.Type:
		var expected []string
		for _, name := range k.Want {
			expected = append(expected, typeName(name))
		}
		return fmt.Sprintf("is %s, expected %s", typeName(k.Got), strings.Join(expected, " or "))
	case *kind.Enum:
		return fmt.Sprintf("is one of %s, not %q", strings.Trim(strings.ReplaceAll(fmt.Sprint(k.Want), " ", ", "), "[]"), fmt.Sprint(k.Got))
	case *kind.Pattern:
		return "is not of the form " + k.Want
	}
	return "is refused: " + of.LocalizedString(message.NewPrinter(language.English))
}

// typeName returns a type of JSON, for people.
func typeName(name string) string {
	known := map[string]string{
		"array": "a list", "object": "an object", "string": "a text", "bool": "true or false", "boolean": "true or false", "integer": "a whole number", "null": "null",
	}
	return cmp.Or(known[name], "a "+name)
}
