package tunnel

import (
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
	object, _ = clone(object).(map[string]any)
	var r reader
	if metadata, ok := object["metadata"].(map[string]any); ok {
		for _, field := range []string{"name", "namespace"} {
			r.text(metadata, field, "metadata."+field)
		}
		for _, field := range []string{"labels", "annotations"} {
			if all, ok := metadata[field].(map[string]any); ok {
				for _, key := range slices.Sorted(maps.Keys(all)) {
					r.text(all, key, fmt.Sprintf("metadata.%s[%s]", field, key))
				}
			}
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
			r.container(container, fmt.Sprintf("spec.%s[%d]", list, i))
		}
	}
	var pod Pod
	return pod, r.findings, convert(object, &pod)
}

// ReadPolicy reads a NetworkPolicy, parsed.
func ReadPolicy(object map[string]any) (Policy, error) {
	var policy Policy
	return policy, convert(object, &policy)
}

// convert names the field that is wrong, and no value.
func convert(object map[string]any, into any) error {
	text, err := json.Marshal(object)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return fmt.Errorf("%s is a %s, which it cannot be", wrong.Field, strings.Fields(wrong.Value)[0])
	}
	return err
}

// clone copies what JSON can hold, so that the caller's stays as it is.
func clone(value any) any {
	switch v := value.(type) {
	case map[string]any:
		copied := make(map[string]any, len(v))
		for key, one := range v {
			copied[key] = clone(one)
		}
		return copied
	case []any:
		copied := make([]any, len(v))
		for i, one := range v {
			copied[i] = clone(one)
		}
		return copied
	}
	return value
}

// reader mends what it can, and says so.
type reader struct{ findings []Finding }

func (r *reader) container(c map[string]any, at string) {
	r.text(c, "name", at+".name")
	for _, field := range []string{"command", "args"} {
		switch line := c[field].(type) {
		case string:
			r.say(at+"."+field, "is one text, and Kubernetes takes a list; it is read as words", "one list element for each word")
			c[field] = toAny(words(line))
		case []any:
			for i := range line {
				r.element(line, i, fmt.Sprintf("%s.%s[%d]", at, field, i))
			}
		}
	}
	env, _ := c["env"].([]any)
	for i, one := range env {
		if variable, ok := one.(map[string]any); ok {
			r.text(variable, "value", fmt.Sprintf("%s.env[%d].value", at, i))
		}
	}
}

func (r *reader) text(object map[string]any, key, at string) {
	if mended, changed := asText(object[key]); changed {
		r.say(at, "is a number or a truth value, and Kubernetes takes a text", "quote it")
		object[key] = mended
	}
}

func (r *reader) element(list []any, i int, at string) {
	if mended, changed := asText(list[i]); changed {
		r.say(at, "is a number or a truth value, and Kubernetes takes a text", "quote it")
		list[i] = mended
	}
}

func (r *reader) say(at, why, mend string) {
	r.findings = append(r.findings, Finding{Code: NotText, Severity: lint.Error, Why: at + " " + why, Mend: mend})
}

func asText(value any) (string, bool) {
	switch v := value.(type) {
	case int64, int, bool:
		return fmt.Sprint(v), true
	case float64:
		text, _ := json.Marshal(v)
		return string(text), true
	}
	return "", false
}

func toAny(words []string) []any {
	all := make([]any, len(words))
	for i, word := range words {
		all[i] = word
	}
	return all
}
