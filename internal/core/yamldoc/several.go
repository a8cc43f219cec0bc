// Package yamldoc counts the documents of YAML, of which the decoder reads the first and says nothing of the others.
package yamldoc

import "bytes"

// Several reports content in front of and behind a separator: "---" at the beginning of a line.
func Several(data []byte) bool {
	var content, before bool
	for line := range bytes.Lines(data) {
		line = bytes.TrimRight(line, " \t\r\n")
		if rest, ok := bytes.CutPrefix(line, []byte("---")); ok && (len(rest) == 0 || rest[0] == ' ' || rest[0] == '\t') {
			before, content = before || content, false
			line = bytes.TrimSpace(rest) // content may stand behind it
		}
		if trimmed := bytes.TrimSpace(line); len(trimmed) > 0 && trimmed[0] != '#' {
			content = true
		}
		if before && content {
			return true
		}
	}
	return false
}
