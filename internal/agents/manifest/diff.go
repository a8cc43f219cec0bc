package manifest

import (
	"bytes"
	"maps"
	"reflect"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
)

// place is where a value stands.
type place struct {
	root   bool
	item   bool // of a sequence, otherwise the value of a key
	flow   bool // within brackets
	after  int  // behind the key's colon
	column int  // of the key, or of the item itself; from 0
}

// diff finds the changes that make a node say want, where it says have.
func (e *editor) diff(node *yamlv3.Node, have, want any, at place) {
	if reflect.DeepEqual(have, want) {
		return
	}
	require(shows(node, have))
	if isCollection(have) && isCollection(want) {
		switch have := have.(type) {
		case map[string]any:
			if want, ok := want.(map[string]any); ok {
				e.diffMapping(node, have, want)
				return
			}
		case []any:
			if want, ok := want.([]any); ok {
				e.diffSequence(node, have, want, at)
				return
			}
		}
	}
	e.replaceValue(node, want, at)
}

// shows reports whether a value stands in its node. It does not behind an alias, nor in the first of two equal keys.
func shows(node *yamlv3.Node, value any) bool {
	switch value := value.(type) {
	case map[string]any:
		return node.Kind == yamlv3.MappingNode
	case []any:
		return node.Kind == yamlv3.SequenceNode && len(node.Content) == len(value)
	}
	return node.Kind == yamlv3.ScalarNode
}

// replaceValue puts another value in the place of a node.
func (e *editor) replaceValue(node *yamlv3.Node, want any, at place) {
	start, end := at.after, at.after
	if !isEmpty(node) {
		start, end = e.start(node), e.end(node)
	} else {
		require(!at.item && !at.flow && !at.root)
	}
	if at.flow || node.Style&yamlv3.FlowStyle != 0 && len(node.Content) > 0 || !isCollection(want) {
		text := e.flow(want)
		if !at.flow && !at.item && !at.root && (start == at.after || e.lineStart(start) != e.lineStart(at.after)) {
			start, text = at.after, " "+text
		}
		e.replace(start, end, text)
		return
	}
	lines := block(want, e.dash == 0)
	if at.item || at.root {
		lines = indented(lines, at.column)
		lines[0] = lines[0][at.column:]
		e.replace(start, end, strings.Join(lines, e.eol))
		return
	}
	by := at.column + 2
	if _, sequence := want.([]any); sequence {
		by = at.column + e.dash
	}
	lines = indented(lines, by)
	if e.lineStart(end) != e.lineStart(at.after) {
		e.replace(at.after, end, e.eol+strings.Join(lines, e.eol))
		return
	}
	e.replace(at.after, end, "") // a comment stays with the key
	e.insertLines(end, lines)
}

// isCollection tells whether a value takes lines of its own.
func isCollection(value any) bool {
	switch value := value.(type) {
	case map[string]any:
		return len(value) > 0
	case []any:
		return len(value) > 0
	}
	return false
}

func (e *editor) diffMapping(node *yamlv3.Node, have, want map[string]any) {
	flow := node.Style&yamlv3.FlowStyle != 0
	seen := map[string]bool{}
	for i := 0; i < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		was, ok := have[key.Value]
		require(ok)               // else it is a merge, or a key that is no text
		require(!seen[key.Value]) // the last one counts; nobody should have to know
		seen[key.Value] = true
		will, stays := want[key.Value]
		switch {
		case stays && reflect.DeepEqual(was, will):
		case stays:
			e.diff(value, was, will, place{flow: flow, after: e.colon(key), column: key.Column - 1})
		case flow:
			e.replaceFlow(node, want)
			return
		default:
			e.removeKey(node, i)
		}
	}
	added := map[string]any{}
	for key, value := range want {
		if _, ok := have[key]; !ok {
			added[key] = value
		} else {
			require(seen[key]) // else it comes by a merge
		}
	}
	e.addKeys(node, added, flow)
}

// addKeys puts keys behind the last.
func (e *editor) addKeys(node *yamlv3.Node, added map[string]any, flow bool) {
	for _, key := range slices.Sorted(maps.Keys(added)) {
		if flow {
			e.addFlowKey(node, key, added[key])
			continue
		}
		lines := block(map[string]any{key: added[key]}, e.dash == 0)
		e.insertLines(e.end(node), indented(lines, node.Content[0].Column-1))
	}
}

// removeKey takes a key and its value away, not the comments above them.
func (e *editor) removeKey(node *yamlv3.Node, i int) {
	start := e.start(node.Content[i])
	if line := e.lineStart(start); blank(e.text[line:start]) {
		e.replace(line, e.nextLine(e.pairEnd(node, i)), "")
		return
	}
	require(i+2 < len(node.Content))
	e.replace(start, e.start(node.Content[i+2]), "") // the next one moves to the dash
}

// pairEnd returns the end of a key with its value.
func (e *editor) pairEnd(node *yamlv3.Node, i int) int {
	if isEmpty(node.Content[i+1]) {
		return e.colon(node.Content[i])
	}
	return e.end(node.Content[i+1])
}

func (e *editor) diffSequence(node *yamlv3.Node, have, want []any, at place) {
	flow := node.Style&yamlv3.FlowStyle != 0
	from := align(have, want)
	if flow && countKept(from) < len(have) {
		e.replaceFlow(node, want)
		return
	}
	next := 0 // of the old ones
	for i, value := range want {
		if from[i] < 0 {
			e.insertItem(node, next, value, at)
			continue
		}
		e.removeItems(node.Content[next:from[i]])
		item := node.Content[from[i]]
		e.diff(item, have[from[i]], value, place{item: true, flow: flow, column: item.Column - 1})
		next = from[i] + 1
	}
	e.removeItems(node.Content[next:])
}

// insertItem puts an item before the one with that number, or behind the last.
func (e *editor) insertItem(node *yamlv3.Node, before int, value any, at place) {
	if node.Style&yamlv3.FlowStyle != 0 {
		e.insertFlowItem(node, before, value)
		return
	}
	dash := e.dashAt(node.Content[0])
	position := at.after
	if before > 0 {
		position = e.end(node.Content[before-1])
	} else {
		require(!at.item && !at.root)
	}
	e.insertLines(position, indented(block([]any{value}, e.dash == 0), dash-e.lineStart(dash)))
}

func (e *editor) removeItems(items []*yamlv3.Node) {
	for _, item := range items {
		e.replace(e.lineStart(e.dashAt(item)), e.nextLine(e.end(item)), "")
	}
}

// dashAt returns the position of an item's dash, which must be the first of its line.
func (e *editor) dashAt(item *yamlv3.Node) int {
	start := e.start(item)
	line := e.lineStart(start)
	dash := line + bytes.LastIndexByte(e.text[line:start], '-')
	require(!isEmpty(item) && dash >= line && blank(e.text[line:dash]) && blank(e.text[dash+1:start]))
	return dash
}

func blank(text []byte) bool { return len(bytes.Trim(text, " ")) == 0 }
