package manifest

import (
	"encoding/json"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
)

// replaceFlow writes all of a collection in brackets anew.
func (e *editor) replaceFlow(node *yamlv3.Node, want any) error {
	start, err := e.start(node)
	if err != nil {
		return err
	}
	end, err := e.end(node)
	if err != nil {
		return err
	}
	text, err := e.flow(want)
	e.replace(start, end, text)
	return err
}

// addFlowKey puts a key behind the last of a collection in brackets.
func (e *editor) addFlowKey(node *yamlv3.Node, key string, value any) error {
	start, err := e.start(node)
	if err != nil {
		return err
	}
	end, err := e.contentEnd(node, start)
	if err != nil {
		return err
	}
	margin, unit, err := e.margin(node, node.Content[len(node.Content)-2])
	if err != nil {
		return err
	}
	var text string
	if e.json && margin != "" {
		name, _ := json.Marshal(key) //nolint:errchkjson // a string
		if text, err = e.pretty(value, margin, unit); err == nil {
			text = string(name) + ": " + text
		}
	} else if text, err = e.flow(map[string]any{key: value}); err == nil {
		text = text[1 : len(text)-1]
	}
	e.replace(end, end, ","+e.gap(margin)+text)
	return err
}

// insertFlowItem puts an item before the one with that number, or behind the last.
func (e *editor) insertFlowItem(node *yamlv3.Node, before int, value any) error {
	beside := node.Content[max(before-1, 0)]
	margin, unit, err := e.margin(node, beside)
	if err != nil {
		return err
	}
	text, err := e.pretty(value, margin, unit)
	if err != nil {
		return err
	}
	if before == 0 {
		at, err := e.start(beside)
		e.replace(at, at, text+","+e.gap(margin))
		return err
	}
	at, err := e.end(beside)
	e.replace(at, at, ","+e.gap(margin)+text)
	return err
}

// pretty writes a value as its neighbours are: in lines where those of JSON are.
func (e *editor) pretty(value any, margin, unit string) (string, error) {
	if !e.json || margin == "" {
		return e.flow(value)
	}
	text, err := json.MarshalIndent(value, strings.TrimPrefix(margin, e.eol), unit)
	return strings.ReplaceAll(string(text), "\n", e.eol), err
}

// gap is what stands between a comma and an element.
func (e *editor) gap(margin string) string {
	switch {
	case margin != "":
		return margin
	case e.json:
		return ""
	}
	return " "
}

// margin is the line end and the blanks before an element, if it begins a line, and one step of indentation.
func (e *editor) margin(node, element *yamlv3.Node) (margin, unit string, err error) {
	at, err := e.start(element)
	if err != nil {
		return "", "", err
	}
	start, err := e.start(node)
	if err != nil {
		return "", "", err
	}
	line := e.lineStart(at)
	if line <= start || len(strings.Trim(string(e.text[line:at]), " \t")) > 0 {
		return "", "", nil
	}
	indent := string(e.text[line:at])
	outer := e.text[e.lineStart(start):start]
	outer = outer[:len(outer)-len(strings.TrimLeft(string(outer), " \t"))]
	return e.eol + indent, strings.TrimPrefix(indent, string(outer)), nil
}
