package manifest

import (
	"bytes"
	"regexp"
	"strings"
	"unicode/utf8"

	yamlv3 "go.yaml.in/yaml/v3"
)

// start returns where a node begins, behind its anchor and tag.
func (e *editor) start(node *yamlv3.Node) int {
	if node.Line < 1 || node.Line > len(e.lines) {
		return len(e.text) // an empty value at the end
	}
	at := e.lines[node.Line-1]
	for range node.Column - 1 {
		_, size := utf8.DecodeRune(e.text[at:])
		at += size
	}
	require(node.Anchor == "" && node.Style&yamlv3.TaggedStyle == 0)
	return at
}

// end returns where a node ends: behind its last character.
func (e *editor) end(node *yamlv3.Node) int {
	start := e.start(node)
	require(node.Kind != yamlv3.AliasNode)
	switch {
	case node.Kind == yamlv3.ScalarNode:
		return e.scalarEnd(node, start)
	case node.Style&yamlv3.FlowStyle != 0:
		return e.flowEnd(node, start)
	}
	last := node.Content[len(node.Content)-1]
	if node.Kind == yamlv3.MappingNode && isEmpty(last) {
		return e.colon(node.Content[len(node.Content)-2])
	}
	return e.end(last)
}

// colon returns the position behind the colon of a key.
func (e *editor) colon(key *yamlv3.Node) int {
	at := e.skip(e.end(key), " \t")
	require(at < len(e.text) && e.text[at] == ':') // else it is an explicit key: "? key"
	return at + 1
}

// isEmpty tells whether nothing is written where a value could be.
func isEmpty(node *yamlv3.Node) bool {
	return node.Kind == yamlv3.ScalarNode && node.Value == "" && node.Style == 0
}

func (e *editor) skip(at int, blanks string) int {
	for at < len(e.text) && strings.IndexByte(blanks, e.text[at]) >= 0 {
		at++
	}
	return at
}

func (e *editor) scalarEnd(node *yamlv3.Node, start int) int {
	switch {
	case node.Style&yamlv3.DoubleQuotedStyle != 0:
		return start + e.match(start, doubleQuoted)
	case node.Style&yamlv3.SingleQuotedStyle != 0:
		return start + e.match(start, singleQuoted)
	case node.Style&(yamlv3.LiteralStyle|yamlv3.FoldedStyle) != 0:
		return e.blockEnd(node, start)
	}
	at := start
	for i := range len(node.Value) { // over several lines, it is folded
		if c := node.Value[i]; strings.IndexByte(" \t\r\n", c) < 0 {
			at = e.skip(at, " \t\r\n")
			require(at < len(e.text) && e.text[at] == c)
			at++
		}
	}
	return at
}

var (
	doubleQuoted = regexp.MustCompile(`^"(?s:[^"\\]|\\.)*"`)
	singleQuoted = regexp.MustCompile(`^'(?:[^']|'')*'`)
)

// match returns the length of the match at a position; the pattern must match.
func (e *editor) match(at int, pattern *regexp.Regexp) int {
	found := pattern.FindIndex(e.text[at:])
	require(found != nil)
	return found[1]
}

// blockEnd returns the end of a literal or folded text: its last line that is indented like the first.
func (e *editor) blockEnd(node *yamlv3.Node, start int) int {
	next := e.nextLine(start)
	header, _, _ := bytes.Cut(e.text[start:next], []byte("#"))
	first := strings.TrimLeft(node.Value, "\n")
	own := len(first) - len(strings.TrimLeft(first, " ")) // blanks that are text: "|2"
	keep := bytes.Contains(header, []byte("+"))           // then blank lines behind it are its own
	indent, end := -1, -1
	for at := next; at < len(e.text); at = e.nextLine(at) {
		content := e.skip(at, " ")
		lineEnd := e.lineEnd(at)
		if content >= lineEnd {
			if keep {
				end = lineEnd
			}
			continue
		}
		if indent < 0 {
			indent = content - at - own
		}
		if content-at < indent || indent == 0 {
			break
		}
		end = lineEnd
	}
	require(end >= 0)
	return end
}

// flowEnd is behind the closing bracket.
func (e *editor) flowEnd(node *yamlv3.Node, start int) int {
	at := e.skipFlow(e.contentEnd(node, start))
	require(at < len(e.text) && (e.text[at] == '}' || e.text[at] == ']'))
	return at + 1
}

// contentEnd is behind the last element of a flow collection, or behind the opening bracket.
func (e *editor) contentEnd(node *yamlv3.Node, start int) int {
	if len(node.Content) == 0 {
		return start + 1
	}
	last := node.Content[len(node.Content)-1]
	require(!isEmpty(last))
	return e.end(last)
}

// skipFlow goes over what may stand between elements of a flow collection.
func (e *editor) skipFlow(at int) int {
	for {
		at = e.skip(at, " \t\r\n,")
		if at == len(e.text) || e.text[at] != '#' {
			return at
		}
		at = e.nextLine(at)
	}
}

// lineStart returns the beginning of the line of a position.
func (e *editor) lineStart(at int) int { return bytes.LastIndexByte(e.text[:at], '\n') + 1 }

// lineEnd returns where the line's end mark begins.
func (e *editor) lineEnd(at int) int {
	end := e.nextLine(at)
	for end > at && (e.text[end-1] == '\n' || e.text[end-1] == '\r') {
		end--
	}
	return end
}

// nextLine returns the beginning of the next line, or the end of the text.
func (e *editor) nextLine(at int) int {
	if length := bytes.IndexByte(e.text[at:], '\n'); length >= 0 {
		return at + length + 1
	}
	return len(e.text)
}
