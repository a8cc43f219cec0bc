package manifest

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
)

// block writes a value as lines of YAML, sequences at the column of their key or two further.
func block(value any, compact bool) ([]string, error) {
	var out bytes.Buffer
	encoder := yamlv3.NewEncoder(&out)
	encoder.SetIndent(2)
	if compact {
		encoder.CompactSeqIndent()
	}
	node, err := toNode(value, 0)
	if err == nil {
		err = encoder.Encode(node)
	}
	if err == nil {
		err = encoder.Close()
	}
	return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n"), err
}

// flow writes a value in one line.
func (e *editor) flow(value any) (string, error) {
	if e.json {
		text, err := json.Marshal(value)
		return string(text), err
	}
	node, err := toNode([]any{value}, yamlv3.FlowStyle) // within brackets, where } and , need quotes
	if err != nil {
		return "", err
	}
	text, err := yamlv3.Marshal(node)
	if err != nil {
		return "", err
	}
	return strings.TrimSuffix(strings.TrimPrefix(string(text), "["), "]\n"), nil
}

// toNode makes a node of a value. The name comes first, as people write it.
func toNode(value any, style yamlv3.Style) (*yamlv3.Node, error) {
	node := &yamlv3.Node{}
	switch value := value.(type) {
	case map[string]any:
		node.Kind, node.Tag, node.Style = yamlv3.MappingNode, "!!map", style
		keys := sortedKeys(value)
		if at := slices.Index(keys, "name"); at > 0 {
			keys = slices.Insert(slices.Delete(keys, at, at+1), 0, "name")
		}
		for _, key := range keys {
			if err := appendNodes(node, style, key, value[key]); err != nil {
				return nil, err
			}
		}
	case []any:
		node.Kind, node.Tag, node.Style = yamlv3.SequenceNode, "!!seq", style
		if err := appendNodes(node, style, value...); err != nil {
			return nil, err
		}
	case string:
		err := node.Encode(value)
		if strings.Contains(value, "\n") { // a literal text would take in what follows it: comments, or the end of the file
			node.Style = yamlv3.DoubleQuotedStyle
		}
		return node, err
	default:
		return node, node.Encode(value)
	}
	return node, nil
}

func appendNodes(to *yamlv3.Node, style yamlv3.Style, values ...any) error {
	for _, value := range values {
		node, err := toNode(value, style)
		if err != nil {
			return err
		}
		to.Content = append(to.Content, node)
	}
	return nil
}

func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// indented are the lines with blanks before them.
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

func joined(lines []string, eol string) string { return strings.Join(lines, eol) }
