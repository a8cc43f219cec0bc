package tunnel

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/core/lint"
)

// ReadPod reads a pod, or the template of a workload: metadata and spec as they stand in a manifest, parsed. What
// Kubernetes would refuse, but can be understood, is a finding: a command line as one text, a number that should be a
// text, such as a cluster named 4711 without quotes. What cannot be understood is an error, which quotes nothing.
func ReadPod(object map[string]any) (Pod, []Finding, error) {
	object, err := clone(object)
	if err != nil {
		return Pod{}, nil, err
	}
	var r reader
	if metadata, ok := object["metadata"].(map[string]any); ok {
		r.texts(metadata, "metadata.%s", "name", "namespace")
		for _, field := range []string{"labels", "annotations"} {
			all, _ := metadata[field].(map[string]any)
			r.texts(all, "metadata."+field+"[%s]", slices.Sorted(maps.Keys(all))...)
		}
	}
	spec, ok := object["spec"].(map[string]any)
	if !ok {
		return Pod{}, nil, errors.New("spec is missing, or no object")
	}
	for _, list := range []string{"initContainers", "containers"} {
		all, ok := spec[list].([]any)
		if !ok && spec[list] != nil {
			return Pod{}, nil, fmt.Errorf("spec.%s is no list", list)
		}
		for i, one := range all {
			container, ok := one.(map[string]any)
			if !ok {
				return Pod{}, nil, fmt.Errorf("spec.%s[%d] is no object", list, i)
			}
			r.container(container, fmt.Sprintf("spec.%s[%d].", list, i))
		}
	}
	pod, err := Read[Pod](object)
	return pod, r.findings, err
}

// Read reads an object, parsed. An error names the field that is wrong, and no value.
func Read[T any](object map[string]any) (T, error) {
	var into T
	text, err := json.Marshal(object)
	if err != nil {
		return into, err
	}
	err = json.Unmarshal(text, &into)
	if wrong := new(json.UnmarshalTypeError); errors.As(err, &wrong) {
		err = fmt.Errorf("%s is a %s, which it cannot be", wrong.Field, strings.Fields(wrong.Value)[0])
	}
	return into, err
}

// clone lets the caller's object stay as it is, and numbers as they are written.
func clone(object map[string]any) (map[string]any, error) {
	text, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var copied map[string]any
	err = decoder.Decode(&copied)
	return copied, err
}

// reader mends what it can, and says so.
type reader struct{ findings []Finding }

func (r *reader) container(c map[string]any, at string) {
	r.texts(c, at+"%s", "name")
	for _, field := range []string{"command", "args"} {
		switch line := c[field].(type) {
		case string:
			r.say(at+field, "is one text, and Kubernetes takes a list; it is read as words", "one list element for each word")
			c[field] = words(line)
		case []any:
			for i, word := range line {
				line[i] = r.text(word, fmt.Sprintf("%s%s[%d]", at, field, i))
			}
		}
	}
	env, _ := c["env"].([]any)
	for i, one := range env {
		variable, _ := one.(map[string]any)
		r.texts(variable, fmt.Sprintf("%senv[%d].%%s", at, i), "value")
	}
}

// texts mends values of an object; at is where they are, by their keys.
func (r *reader) texts(object map[string]any, at string, keys ...string) {
	for _, key := range keys {
		if value, ok := object[key]; ok {
			object[key] = r.text(value, fmt.Sprintf(at, key))
		}
	}
}

func (r *reader) text(value any, at string) any {
	switch value.(type) {
	case json.Number, bool:
		r.say(at, "is a number or a truth value, and Kubernetes takes a text", "quote it")
		return fmt.Sprint(value)
	}
	return value
}

func (r *reader) say(at, why, mend string) {
	r.findings = append(r.findings, Finding{Code: NotText, Severity: lint.Error, Why: at + " " + why, Mend: mend})
}
