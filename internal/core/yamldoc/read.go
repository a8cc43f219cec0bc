package yamldoc

import (
	"bytes"
	"fmt"

	"sigs.k8s.io/yaml"
)

// Remark is about a text that does not say what it seems to say: two values are in the same place, and one is lost.
type Remark struct {
	Line int    // of the file, from 1, where what counts stands
	Text string // names places, keys and variables, and no value
}

// In returns the remark as a message about a file.
func (r Remark) In(file string) string { return fmt.Sprintf("%s:%d: %s", file, r.Line, r.Text) }

// Read decodes YAML as kubectl and Helm do: of equal keys, the last counts. The remarks name the values that are lost
// by that. above is the number of lines above the text in its file. decode is given JSON. An error about YAML, which
// may quote the text, does not come from decode.
func Read[T any](text []byte, above int, decode func([]byte, any) error) (T, []Remark, error) {
	var value T
	encoded, twice, err := encode(text)
	if err == nil {
		err = decode(encoded, &value)
	}
	if err != nil {
		return value, nil, err
	}
	if twice || bytes.Contains(text, []byte("<<")) || repeats(value) {
		return value, remarks(text, above), nil
	}
	return value, nil, nil
}

// encode makes JSON of YAML, and reports whether a key is there twice.
func encode(text []byte) (encoded []byte, twice bool, err error) {
	if encoded, err := yaml.YAMLToJSONStrict(text); err == nil {
		return encoded, false, nil
	}
	encoded, err = yaml.YAMLToJSON(text)
	return encoded, true, err
}

// repeats reports whether a list of variables somewhere in a value names one twice.
func repeats(value any) bool {
	switch value := value.(type) {
	case map[string]any:
		for key, inner := range value {
			if list, ok := inner.([]any); ok && key == variables && namesTwice(list) || repeats(inner) {
				return true
			}
		}
	case []any:
		for _, inner := range value {
			if repeats(inner) {
				return true
			}
		}
	}
	return false
}

func namesTwice(list []any) bool {
	seen := map[any]bool{}
	for _, item := range list {
		object, _ := item.(map[string]any)
		name, ok := object["name"].(string)
		if ok && seen[name] {
			return true
		}
		seen[name] = ok
	}
	return false
}
