package manifest

import (
	"bytes"
	"reflect"

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
func (e *editor) diff(node *yamlv3.Node, have, want any, at place) error {
	if reflect.DeepEqual(have, want) {
		return nil
	}
	if !shows(node, have) {
		return errShape
	}
	switch have := have.(type) {
	case map[string]any:
		if want, also := want.(map[string]any); also && len(have) > 0 && len(want) > 0 {
			return e.diffMapping(node, have, want)
		}
	case []any:
		if want, also := want.([]any); also && len(have) > 0 && len(want) > 0 {
			return e.diffSequence(node, have, want, at)
		}
	}
	return e.replaceValue(node, want, at)
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
func (e *editor) replaceValue(node *yamlv3.Node, want any, at place) error {
	start, end := at.after, at.after
	if !isEmpty(node) {
		var err error
		if start, err = e.start(node); err != nil {
			return err
		}
		if end, err = e.end(node); err != nil {
			return err
		}
	} else if at.item || at.flow || at.root {
		return errShape
	}
	if at.flow || node.Style&yamlv3.FlowStyle != 0 && len(node.Content) > 0 || !isCollection(want) {
		text, err := e.flow(want)
		if !at.flow && !at.item && !at.root && (start == at.after || e.lineStart(start) != e.lineStart(at.after)) {
			start, text = at.after, " "+text
		}
		e.replace(start, end, text)
		return err
	}
	lines, err := block(want, e.dash == 0)
	if err != nil {
		return err
	}
	if at.item || at.root {
		lines = indented(lines, at.column)
		lines[0] = lines[0][at.column:]
		e.replace(start, end, joined(lines, e.eol))
		return nil
	}
	by := at.column + 2
	if _, sequence := want.([]any); sequence {
		by = at.column + e.dash
	}
	lines = indented(lines, by)
	if e.lineStart(end) != e.lineStart(at.after) {
		e.replace(at.after, end, e.eol+joined(lines, e.eol))
		return nil
	}
	e.replace(at.after, end, "") // a comment stays with the key
	e.insertLines(end, lines)
	return nil
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

func (e *editor) diffMapping(node *yamlv3.Node, have, want map[string]any) error {
	flow := node.Style&yamlv3.FlowStyle != 0
	seen := map[string]bool{}
	for i := 0; i < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		if seen[key.Value] {
			return errShape // the last one counts; nobody should have to know
		}
		seen[key.Value] = true
		was, known := have[key.Value]
		if !known {
			return errShape // a merge, or a key that is no text
		}
		will, stays := want[key.Value]
		switch {
		case stays && reflect.DeepEqual(was, will):
		case stays:
			after, err := e.colon(key)
			if err == nil {
				err = e.diff(value, was, will, place{flow: flow, after: after, column: key.Column - 1})
			}
			if err != nil {
				return err
			}
		case flow:
			return e.replaceFlow(node, want)
		default:
			if err := e.removeKey(node, i); err != nil {
				return err
			}
		}
	}
	added := map[string]any{}
	for key, value := range want {
		if _, was := have[key]; !was {
			added[key] = value
		} else if !seen[key] {
			return errShape // it comes by a merge
		}
	}
	return e.addKeys(node, added, flow)
}

// addKeys puts keys behind the last.
func (e *editor) addKeys(node *yamlv3.Node, added map[string]any, flow bool) error {
	if len(added) == 0 {
		return nil
	}
	if flow {
		for _, key := range sortedKeys(added) {
			if err := e.addFlowKey(node, key, added[key]); err != nil {
				return err
			}
		}
		return nil
	}
	end, err := e.end(node)
	if err != nil {
		return err
	}
	for _, key := range sortedKeys(added) {
		lines, err := block(map[string]any{key: added[key]}, e.dash == 0)
		if err != nil {
			return err
		}
		e.insertLines(end, indented(lines, node.Content[0].Column-1))
	}
	return nil
}

// removeKey takes a key and its value away, not the comments above them.
func (e *editor) removeKey(node *yamlv3.Node, i int) error {
	start, err := e.start(node.Content[i])
	if err != nil {
		return err
	}
	if line := e.lineStart(start); blank(e.text[line:start]) {
		end, err := e.pairEnd(node, i)
		e.replace(line, e.nextLine(end), "")
		return err
	}
	if i+2 == len(node.Content) {
		return errShape
	}
	next, err := e.start(node.Content[i+2]) // it moves to the dash
	e.replace(start, next, "")
	return err
}

func (e *editor) pairEnd(node *yamlv3.Node, i int) (int, error) {
	if isEmpty(node.Content[i+1]) {
		return e.colon(node.Content[i])
	}
	return e.end(node.Content[i+1])
}

func (e *editor) diffSequence(node *yamlv3.Node, have, want []any, at place) error {
	flow := node.Style&yamlv3.FlowStyle != 0
	from := align(have, want)
	if flow && len(have) > kept(from) {
		return e.replaceFlow(node, want)
	}
	next := 0 // of the old ones
	for i, value := range want {
		if from[i] < 0 {
			if err := e.insertItem(node, next, value, at); err != nil {
				return err
			}
			continue
		}
		if err := e.removeItems(node, next, from[i]); err != nil {
			return err
		}
		item := node.Content[from[i]]
		if err := e.diff(item, have[from[i]], value, place{item: true, flow: flow, column: item.Column - 1}); err != nil {
			return err
		}
		next = from[i] + 1
	}
	return e.removeItems(node, next, len(have))
}

// insertItem puts an item before the one with that number, or behind the last.
func (e *editor) insertItem(node *yamlv3.Node, before int, value any, at place) error {
	if node.Style&yamlv3.FlowStyle != 0 {
		return e.insertFlowItem(node, before, value)
	}
	dash, err := e.dashAt(node.Content[0])
	if err != nil {
		return err
	}
	position := at.after
	switch {
	case before > 0:
		if position, err = e.end(node.Content[before-1]); err != nil {
			return err
		}
	case at.item || at.root:
		return errShape
	}
	lines, err := block([]any{value}, e.dash == 0)
	if err == nil {
		e.insertLines(position, indented(lines, dash-e.lineStart(dash)))
	}
	return err
}

func (e *editor) removeItems(node *yamlv3.Node, from, to int) error {
	for _, item := range node.Content[from:to] {
		dash, err := e.dashAt(item)
		if err != nil {
			return err
		}
		end, err := e.end(item)
		if err != nil {
			return err
		}
		e.replace(e.lineStart(dash), e.nextLine(end), "")
	}
	return nil
}

// dashAt is the position of an item's dash, which must be the first of its line.
func (e *editor) dashAt(item *yamlv3.Node) (int, error) {
	start, err := e.start(item)
	if err != nil || isEmpty(item) {
		return 0, errShape
	}
	line := e.lineStart(start)
	dash := line + bytes.LastIndexByte(e.text[line:start], '-')
	if dash < line || !blank(e.text[line:dash]) || !blank(e.text[dash+1:start]) {
		return 0, errShape
	}
	return dash, nil
}

func blank(text []byte) bool { return len(bytes.Trim(text, " ")) == 0 }
