package manifest

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand"
	"slices"
	"strings"
)

// writer writes random values as people write YAML: every style, comments, blank lines, either line end.
type writer struct {
	*rand.Rand
	out  strings.Builder
	dash int // of sequences below their key
}

func (w *writer) one(of ...string) string { return of[w.Intn(len(of))] }

var scalars = []any{
	"plain", "two words", "yes", "0777", "", "with: colon", "it's", `"quoted"`, "# no comment", "-x", "${A}$(B)", "ü–€", "true", "1e3", "null", "~",
	int64(1), int64(9007199254740993), 1.5, true, nil,
	"line one\nline two\n", "#!/bin/sh\n# not a comment\nexec x\n", "no end\n\n  indented\nend",
}

func (w *writer) scalar() any { return scalars[w.Intn(len(scalars))] }

// value makes a random value. Lists have named elements, as lists of Kubernetes often do.
func (w *writer) value(depth int) any {
	switch kind := w.Intn(10); {
	case depth == 0 || kind < 4:
		return w.scalar()
	case kind < 7:
		return w.object(depth)
	case kind < 9:
		list := []any{}
		for i := range w.Intn(4) {
			element := w.object(depth)
			element["name"] = fmt.Sprint("n", i)
			list = append(list, element)
		}
		return list
	}
	list := []any{}
	for range w.Intn(4) {
		list = append(list, w.scalar())
	}
	return list
}

func (w *writer) object(depth int) map[string]any {
	object := map[string]any{}
	for range w.Intn(4) {
		object[w.one("a", "b", "env", "spec", "key with blank", "app.kubernetes.io/name")] = w.value(depth - 1)
	}
	return object
}

func (w *writer) comment(indent int) {
	for w.Intn(6) == 0 {
		w.out.WriteString(strings.Repeat(" ", w.one2(indent)) + w.one("# why", "# - name: x", "", "#") + "\n")
	}
}

func (w *writer) one2(indent int) int { return max(0, indent-2*w.Intn(2)) }

// block writes a collection that is not empty, its first line at the current position if inline.
func (w *writer) block(value any, indent int, inline bool) {
	margin := func(i int) {
		if i > 0 || !inline {
			w.comment(indent)
			w.out.WriteString(strings.Repeat(" ", indent))
		}
	}
	switch value := value.(type) {
	case map[string]any:
		keys := slices.Sorted(maps.Keys(value))
		w.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
		for i, key := range keys {
			margin(i)
			w.out.WriteString(w.key(key) + ":")
			w.below(value[key], indent, true)
		}
	case []any:
		for i, element := range value {
			margin(i)
			w.out.WriteString("-")
			w.below(element, indent, false)
		}
	}
}

func (w *writer) key(key string) string {
	if w.Intn(5) == 0 {
		return w.one(`"`+key+`"`, "'"+key+"'")
	}
	return key
}

// below writes what follows a colon or a dash.
func (w *writer) below(value any, indent int, key bool) {
	if !isCollection(value) || w.Intn(6) == 0 {
		w.out.WriteString(" ")
		w.inline(value, indent+2, key)
		w.out.WriteString(w.one("", "", "", " # said") + "\n")
		return
	}
	if !key {
		w.out.WriteString(" ")
		w.block(value, indent+2, true)
		return
	}
	w.out.WriteString(w.one("", "", " # said") + "\n")
	if _, list := value.([]any); list {
		w.block(value, indent+w.dash, false)
	} else {
		w.block(value, indent+2, false)
	}
}

// inline writes a value in its own line, or as a text with its lines below.
func (w *writer) inline(value any, indent int, key bool) {
	text, isText := value.(string)
	if isText && key && strings.HasSuffix(text, "\n") && !strings.HasSuffix(text, "\n\n") && w.Intn(2) == 0 {
		lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		w.out.WriteString("|\n" + strings.Join(indented(lines, indent), "\n"))
		w.out.WriteString("\n" + strings.Repeat(" ", indent-2) + "# after a text\n" + strings.Repeat(" ", indent-2))
		return
	}
	switch plain := text; {
	case isText && slices.Contains([]string{"plain", "two words", "it's", "ü–€"}, plain) && w.Intn(2) == 0:
		w.out.WriteString(plain)
	case isText && !strings.Contains(text, "\n") && w.Intn(2) == 0:
		w.out.WriteString("'" + strings.ReplaceAll(text, "'", "''") + "'")
	default:
		encoded, _ := json.Marshal(value)
		if object, isMap := value.(map[string]any); isMap && w.Intn(2) == 0 {
			var parts []string
			for _, key := range slices.Sorted(maps.Keys(object)) {
				inner, _ := json.Marshal(object[key])
				parts = append(parts, w.key(key)+": "+string(inner))
			}
			encoded = []byte("{" + strings.Join(parts, ", ") + w.one("}", " }"))
		}
		w.out.Write(encoded)
	}
}

// text returns the value, written.
func (w *writer) text(value map[string]any) string {
	w.out.Reset()
	w.out.WriteString(w.one("", "---\n", "# Source: x\n", "--- # first\n"))
	w.block(value, 0, false)
	text := w.out.String()
	if w.Intn(5) == 0 {
		text = strings.TrimSuffix(text, "\n")
	}
	if w.Intn(4) == 0 {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	return text
}

// changed returns a value that says something else somewhere; only more, if it must keep all.
func (w *writer) changed(value any, keep bool) any {
	switch value := value.(type) {
	case map[string]any:
		return w.changedObject(value, keep)
	case []any:
		return w.changedList(value, keep)
	}
	if keep || w.Intn(3) > 0 {
		return value
	}
	return w.value(2)
}

func (w *writer) changedObject(value map[string]any, keep bool) any {
	result := map[string]any{}
	for _, key := range slices.Sorted(maps.Keys(value)) {
		result[key] = value[key]
		if w.Intn(2) == 0 {
			result[key] = w.changed(value[key], keep)
		}
		if !keep && w.Intn(10) == 0 {
			delete(result, key)
		}
	}
	if (w.Intn(3) == 0) && (!keep || len(value) > 0) {
		result[w.one("added", "yes", "more-of-it")] = w.value(2)
	}
	return result
}

func (w *writer) changedList(value []any, keep bool) any {
	result := []any{}
	for _, element := range value {
		if keep || w.Intn(8) > 0 {
			result = append(result, w.changed(element, keep))
		}
	}
	if w.Intn(3) == 0 && (!keep || len(value) > 0) {
		result = slices.Insert(result, w.Intn(len(result)+1), any(map[string]any{"name": w.one("new", "other"), "value": w.scalar()}))
	}
	return result
}
