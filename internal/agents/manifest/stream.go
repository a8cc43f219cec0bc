// Package manifest changes Kubernetes objects in place in a text: the rest of the text keeps its bytes, comments,
// quotes, order, indentation and line ends included.
package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/fairlead-io/fairlead/internal/core/yamldoc"
)

// Split cuts a stream into its documents. Together they are the stream again, byte for byte: a document begins with its
// separator, and a stream of JSON values without separators is cut, too.
func Split(stream []byte) [][]byte {
	var documents [][]byte
	start := 0
	for at := 0; at < len(stream); {
		if at > start && separator(stream[at:]) {
			documents = append(documents, splitJSON(stream[start:at])...)
			start = at
		}
		next := bytes.IndexByte(stream[at:], '\n')
		if next < 0 {
			break
		}
		at += next + 1
	}
	return append(documents, splitJSON(stream[start:])...)
}

// separator tells whether a line begins a document: YAML 1.2, rule [203] c-directives-end.
func separator(line []byte) bool {
	rest, ok := bytes.CutPrefix(line, []byte("---"))
	return ok && (len(rest) == 0 || bytes.IndexByte([]byte(" \t\r\n"), rest[0]) >= 0)
}

func splitJSON(document []byte) [][]byte {
	if !bytes.HasPrefix(bytes.TrimSpace(document), []byte("{")) {
		return [][]byte{document}
	}
	decoder := json.NewDecoder(bytes.NewReader(document))
	var values [][]byte
	start := int64(0)
	for {
		var value json.RawMessage
		if decoder.Decode(&value) != nil {
			break
		}
		values = append(values, document[start:decoder.InputOffset()])
		start = decoder.InputOffset()
	}
	if len(values) == 0 || len(bytes.TrimSpace(document[start:])) > 0 {
		return [][]byte{document} // not JSON, or not all of it
	}
	values[len(values)-1] = document[start-int64(len(values[len(values)-1])):]
	return values
}

// Parse returns what a document says, nil if it says nothing. No error quotes it: it may be a Secret.
func Parse(document []byte) (any, error) {
	value, _, err := Read(document, 0)
	return value, err
}

// Read is Parse with remarks on what in the document is lost. It has that many lines above it in its file.
func Read(document []byte, above int) (any, []yamldoc.Remark, error) {
	if empty(document) {
		return nil, nil, nil
	}
	if !utf8.Valid(document) {
		return nil, nil, errors.New("not UTF-8")
	}
	var invalid error
	value, remarks, err := yamldoc.Read[any](document, above, func(encoded []byte, value any) error {
		invalid = utiljson.Unmarshal(encoded, value)
		return invalid
	})
	switch {
	case invalid != nil:
		return nil, nil, fmt.Errorf("not an object: %w", invalid)
	case err != nil:
		return nil, nil, errors.New("not valid YAML")
	}
	return value, remarks, nil
}

// empty tells whether there is nothing but comments, directives and markers.
func empty(document []byte) bool {
	for line := range bytes.Lines(document) {
		line = bytes.TrimSpace(line)
		if len(line) > 0 && line[0] != '#' && line[0] != '%' && !bytes.Equal(line, []byte("---")) && !bytes.Equal(line, []byte("...")) {
			return false
		}
	}
	return true
}
