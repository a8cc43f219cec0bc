package manifest

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
)

// block writes a value as lines of YAML, sequences at the column of their key or two further.
func block(value any, compact bool) []string {
	var out bytes.Buffer
	encoder := yamlv3.NewEncoder(&out)
	encoder.SetIndent(2)
	if compact {
		encoder.CompactSeqIndent()
	}
	check(encoder.Encode(toNode(value, 0)))
	check(encoder.Close())
	return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
}

// flow writes a value in one line.
func (e *editor) flow(value any) string {
	if e.json {
		text, err := json.Marshal(value)
		check(err)
		return string(text)
	}
	text, err := yamlv3.Marshal(toNode([]any{value}, yamlv3.FlowStyle)) // within brackets, where } and , need quotes
	check(err)
	return strings.TrimSuffix(strings.TrimPrefix(string(text), "["), "]\n")
}

// toNode makes a node of a value. The name comes first, as people write it.
func toNode(value any, style yamlv3.Style) *yamlv3.Node {
	node := &yamlv3.Node{}
	switch value := value.(type) {
	case map[string]any:
		node.Kind, node.Tag, node.Style = yamlv3.MappingNode, "!!map", style
		keys := slices.Sorted(maps.Keys(value))
		if at := slices.Index(keys, "name"); at > 0 {
			keys = slices.Insert(slices.Delete(keys, at, at+1), 0, "name")
		}
		for _, key := range keys {
			node.Content = append(node.Content, toNode(key, style), toNode(value[key], style))
		}
	case []any:
		node.Kind, node.Tag, node.Style = yamlv3.SequenceNode, "!!seq", style
		for _, item := range value {
			node.Content = append(node.Content, toNode(item, style))
		}
	case string:
		check(node.Encode(value))
		if strings.Contains(value, "\n") { // a literal text would take in what follows it: comments, or the end of the file
			node.Style = yamlv3.DoubleQuotedStyle
		}
	default:
		check(node.Encode(value))
	}
	return node
}

// indented returns the lines with blanks before them.
func indented(lines []string, by int) []string {
	result := make([]string, len(lines))
	for i, line := range lines {
		if line != "" {
			line = strings.Repeat(" ", by) + line
		}
		result[i] = line
	}
	return result
}
