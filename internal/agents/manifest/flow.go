package manifest

import (
	"encoding/json"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
)

// replaceFlow writes all of a collection in brackets anew.
func (e *editor) replaceFlow(node *yamlv3.Node, want any) {
	e.replace(e.start(node), e.end(node), e.flow(want))
}

// addFlowKey puts a key behind the last of a collection in brackets.
func (e *editor) addFlowKey(node *yamlv3.Node, key string, value any) {
	end := e.contentEnd(node, e.start(node))
	margin, unit := e.margin(node, node.Content[len(node.Content)-2])
	var text string
	if e.json && margin != "" {
		text = e.flow(key) + ": " + e.pretty(value, margin, unit)
	} else {
		text = e.flow(map[string]any{key: value})
		text = text[1 : len(text)-1]
	}
	e.replace(end, end, ","+e.gap(margin)+text)
}

// insertFlowItem puts an item before the one with that number, or behind the last.
func (e *editor) insertFlowItem(node *yamlv3.Node, before int, value any) {
	beside := node.Content[max(before-1, 0)]
	margin, unit := e.margin(node, beside)
	text := e.pretty(value, margin, unit)
	if before == 0 {
		at := e.start(beside)
		e.replace(at, at, text+","+e.gap(margin))
		return
	}
	at := e.end(beside)
	e.replace(at, at, ","+e.gap(margin)+text)
}

// pretty writes a value as its neighbours are: in lines where those of JSON are.
func (e *editor) pretty(value any, margin, unit string) string {
	if !e.json || margin == "" {
		return e.flow(value)
	}
	text, err := json.MarshalIndent(value, strings.TrimPrefix(margin, e.eol), unit)
	check(err)
	return strings.ReplaceAll(string(text), "\n", e.eol)
}

// gap returns what stands between a comma and an element.
func (e *editor) gap(margin string) string {
	switch {
	case margin != "":
		return margin
	case e.json:
		return ""
	}
	return " "
}

// margin returns the line end and the blanks before an element, if it begins a line, and one step of indentation.
func (e *editor) margin(node, element *yamlv3.Node) (margin, unit string) {
	at, start := e.start(element), e.start(node)
	line := e.lineStart(at)
	if line <= start || len(strings.Trim(string(e.text[line:at]), " \t")) > 0 {
		return "", ""
	}
	indent := string(e.text[line:at])
	outer := e.text[e.lineStart(start):start]
	outer = outer[:len(outer)-len(strings.TrimLeft(string(outer), " \t"))]
	return e.eol + indent, strings.TrimPrefix(indent, string(outer))
}
