package revision

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/noproxy"
)

// Difference lists the changes that a revision makes. About credentials and certificates it says only that they
// changed.
type Difference struct {
	Came   []string      `json:"came,omitempty"` // entries
	Went   []string      `json:"went,omitempty"`
	Fields []FieldChange `json:"fields,omitempty"`
}

// FieldChange is a field that changed. Both values are empty where nobody may see them.
type FieldChange struct {
	Field  string `json:"field"`
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
	How    string `json:"how,omitempty"` // then: added or removed; empty for changed
}

// Compare returns the changes from one revision to another.
func Compare(before, after Public) Difference {
	earlier, current := before.Entries(), after.Entries()
	d := Difference{Came: subtract(current, earlier), Went: subtract(earlier, current)}
	d.field("http", before.HTTP, after.HTTP)
	d.field("https", before.HTTPS, after.HTTPS)
	for _, hidden := range []struct{ name, before, after string }{
		{"credentials", before.Credentials, after.Credentials},
		{"previous credentials", before.Previous, after.Previous},
		{"trustedCA", before.TrustedCA, after.TrustedCA},
	} {
		if hidden.before != hidden.after {
			d.Fields = append(d.Fields, FieldChange{Field: hidden.name, How: changeWord(hidden.before, hidden.after)})
		}
	}
	old, now := settings(before), settings(after)
	names := maps.Clone(old)
	maps.Copy(names, now)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		d.field(name, old[name], now[name])
	}
	return d
}

// changeWord says that a value was added or removed, and "" if it changed.
func changeWord(before, after string) string {
	switch {
	case before == "":
		return "added"
	case after == "":
		return "removed"
	}
	return ""
}

// ChangesAfter returns the changes of objects that an earlier revision does not have.
func (p Public) ChangesAfter(before Public) []Change {
	return slices.DeleteFunc(slices.Clone(p.Changes), func(c Change) bool {
		return slices.ContainsFunc(before.Changes, func(was Change) bool {
			return was.Object == c.Object && was.Manager == c.Manager && was.Time.Equal(c.Time)
		})
	})
}

// subtract returns the elements of all that are not among others.
func subtract(all, others []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(one string) bool { return slices.Contains(others, one) })
}

func (d *Difference) field(name, before, after string) {
	if before != after {
		d.Fields = append(d.Fields, FieldChange{Field: name, Before: withoutUser(before), After: withoutUser(after)})
	}
}

// withoutUser is for a text that should have no user information: the URLs of revisions are kept without it.
func withoutUser(text string) string {
	if strings.Contains(text, "@") {
		return noproxy.Redacted(text)
	}
	return text
}

// settings returns the fields of the spec by their paths, less the URLs and the entries.
func settings(p Public) map[string]string {
	spec := p.Spec.DeepCopy()
	spec.NoProxy = nil
	if url := spec.Source.URL; url != nil {
		url.HTTP, url.HTTPS = "", ""
	}
	var tree any
	text, _ := json.Marshal(spec) // strings, numbers and selectors
	_ = json.Unmarshal(text, &tree)
	all := map[string]string{}
	flatten("spec", tree, all)
	return all
}

func flatten(path string, node any, into map[string]string) {
	switch node := node.(type) {
	case map[string]any:
		for key, value := range node {
			flatten(path+"."+key, value, into)
		}
	case []any:
		texts := make([]string, len(node))
		for i, value := range node {
			texts[i] = inline(value)
		}
		into[path] = strings.Join(texts, ", ")
	default:
		into[path] = fmt.Sprint(node)
	}
}

// inline returns an item of a list: an object as JSON.
func inline(node any) string {
	if object, ok := node.(map[string]any); ok {
		if text, err := json.Marshal(object); err == nil {
			return string(text)
		}
	}
	return fmt.Sprint(node)
}
