package yamldoc

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
)

// variables is the key of a container's variables.
const variables = "env"

// shown are keys and names that a message may have. Others may be anything, such as a password without its blank.
var shown = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_./-]{0,62}$`)

// remarks are about a text that has that many lines above it.
func remarks(text []byte, above int) []Remark {
	var root yamlv3.Node
	if yamlv3.Unmarshal(text, &root) != nil {
		return nil // what reads it for Kubernetes takes more
	}
	lower(&root, above)
	w := walk{}
	w.node(&root, "")
	slices.SortStableFunc(w.found, func(a, b Remark) int { return a.Line - b.Line })
	return w.found
}

// lower counts the lines from the top of the file.
func lower(n *yamlv3.Node, by int) {
	n.Line += by
	for _, inner := range n.Content {
		lower(inner, by)
	}
}

type walk struct{ found []Remark }

// node visits the nodes that are written in a place, and does not follow aliases.
func (w *walk) node(n *yamlv3.Node, path string) {
	switch n.Kind {
	case yamlv3.DocumentNode:
		w.node(n.Content[0], path)
	case yamlv3.SequenceNode:
		if path == variables || strings.HasSuffix(path, "."+variables) {
			w.names(n, path)
		}
		for i, item := range n.Content {
			w.node(item, fmt.Sprintf("%s[%d]", path, i))
		}
	case yamlv3.MappingNode:
		w.mapping(n, path)
		for i := 0; i+1 < len(n.Content); i += 2 {
			w.node(n.Content[i+1], below(path, n.Content[i].Value))
		}
	}
}

func below(path, key string) string {
	if !shown.MatchString(key) && key != "<<" {
		key = "(a key)"
	}
	return strings.TrimPrefix(path+"."+key, ".")
}

// field is a key of a mapping with its value. It is merged if it comes from another mapping, by <<.
type field struct {
	key, value *yamlv3.Node
	merged     bool
}

// place is where a value stands. Its texts follow the line number in a message: that it was merged, and which values
// are lost.
type place struct {
	at               *yamlv3.Node
	merged, contents string
}

// place returns where a field stands.
func (f field) place() place {
	p := place{at: f.key, contents: f.contents()}
	if f.merged {
		p.merged = " (merged by <<)"
	}
	return p
}

// contents names the variables in a list, or the keys of a map: " with A, B". It is "" if none may be shown.
func (f field) contents() string {
	var names []string
	value := resolved(f.value)
	for i, n := range value.Content {
		name := ""
		switch {
		case value.Kind == yamlv3.SequenceNode:
			name = nameOf(n)
		case value.Kind == yamlv3.MappingNode && i%2 == 0:
			name = n.Value
		}
		if shown.MatchString(name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return " with " + strings.Join(names, ", ")
}

func (w *walk) mapping(n *yamlv3.Node, path string) {
	var keys []string
	set := map[string][]field{}
	for _, f := range fields(n, false, 0) {
		key := f.key.Value
		if set[key] == nil {
			keys = append(keys, key)
		}
		set[key] = append(set[key], f)
	}
	for _, key := range keys {
		counts := set[key][len(set[key])-1]
		var ignored []place
		for _, f := range set[key] {
			// A merge is there to be overridden, one text by another. That a list or a map is replaced as a whole is often not meant.
			said := slices.ContainsFunc(ignored, func(p place) bool { return p.at == f.key }) // of what is merged twice
			if f.key != counts.key && !said && (!f.merged || resolved(f.value).Kind != yamlv3.ScalarNode) {
				ignored = append(ignored, f.place())
			}
		}
		mend := "write both into one"
		if len(ignored) > 1 {
			mend = "write all into one"
		}
		w.remark(below(path, key)+" is set more than once", mend, counts.place(), ignored)
	}
}

func (w *walk) remark(what, mend string, counts place, ignored []place) {
	if len(ignored) == 0 {
		return
	}
	lines := map[int]bool{counts.at.Line: true}
	for _, p := range ignored {
		lines[p.at.Line] = true
	}
	line := func(p place) string {
		if len(lines) > len(ignored) {
			return fmt.Sprintf("line %d", p.at.Line)
		}
		return fmt.Sprintf("line %d, column %d", p.at.Line, p.at.Column) // several stand in one line, such as all of JSON
	}
	var not, where []string
	for _, p := range ignored {
		not, where = append(not, line(p)+p.merged+p.contents), append(where, line(p))
	}
	has := " has"
	if len(ignored) > 1 {
		has = " have"
	}
	w.found = append(w.found, Remark{counts.at.Line, fmt.Sprintf("%s: %s counts, and not %s; what %s is lost: %s",
		what, line(counts)+counts.merged, strings.Join(not, ", nor "), strings.Join(where, " and ")+has, mend)})
}

// deepest bounds merges within merges.
const deepest = 20

// fields returns the keys of a mapping as yaml.v2 sets them, which kubectl, Helm and sigs.k8s.io/yaml are made of: a merge takes
// effect where it stands, also over what stands above it, and the first of several over the others.
func fields(n *yamlv3.Node, merged bool, depth int) []field {
	var all []field
	for i := 0; i+1 < len(n.Content) && depth < deepest; i += 2 {
		key, value := n.Content[i], resolved(n.Content[i+1])
		switch {
		case key.Kind != yamlv3.ScalarNode:
		case key.Tag != "!!merge":
			all = append(all, field{key, n.Content[i+1], merged})
		case value.Kind == yamlv3.SequenceNode:
			for j := len(value.Content) - 1; j >= 0; j-- {
				all = append(all, fields(resolved(value.Content[j]), true, depth+1)...)
			}
		default:
			all = append(all, fields(value, true, depth+1)...)
		}
	}
	return all
}

func resolved(n *yamlv3.Node) *yamlv3.Node {
	if n.Kind == yamlv3.AliasNode {
		return n.Alias
	}
	return n
}

// names finds a variable that a list has twice. The kubelet takes the last.
func (w *walk) names(list *yamlv3.Node, path string) {
	named := map[string][]place{}
	for _, item := range list.Content {
		if name := nameOf(item); shown.MatchString(name) {
			named[name] = append(named[name], place{at: item})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(named)) {
		last := len(named[name]) - 1
		w.remark(path+" has the variable "+name+" more than once", "keep one", named[name][last], named[name][:last])
	}
}

// nameOf returns what an item of a list is called.
func nameOf(item *yamlv3.Node) string {
	name := ""
	if item = resolved(item); item.Kind != yamlv3.MappingNode {
		return name
	}
	for _, f := range fields(item, false, 0) {
		if f.key.Value == "name" {
			name = resolved(f.value).Value
		}
	}
	return name
}
