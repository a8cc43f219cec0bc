package manifest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
)

// Edit returns the document changed so that it says want. Lines that say the same before and after keep their bytes,
// as long as the change can be written between them; where it cannot (see errShape), the document is written anew, its
// leading comments kept, JSON as JSON.
func Edit(document []byte, want any) ([]byte, error) {
	if text, marked := bytes.CutPrefix(document, byteOrderMark); marked {
		edited, err := Edit(text, want)
		return slices.Concat(byteOrderMark, edited), err
	}
	decoder := yamlv3.NewDecoder(bytes.NewReader(document))
	if err := decoder.Decode(new(yamlv3.Node)); err == nil && !errors.Is(decoder.Decode(new(yamlv3.Node)), io.EOF) {
		return nil, errors.New("there is more behind its end, with no line of --- between") // which nobody reads, and which is not to be lost
	}
	for _, write := range []func([]byte, any) ([]byte, error){splice, rewrite} {
		edited, err := write(document, want)
		if err != nil {
			continue
		}
		if got, err := Parse(edited); err == nil && reflect.DeepEqual(got, want) {
			return edited, nil
		}
	}
	return nil, errors.New("what it is to be cannot be written")
}

var byteOrderMark = []byte("\ufeff")

// errShape: the text has a shape into which nothing is spliced. Aliases, because a change of one place would be one of
// another; explicit keys; line breaks that only YAML knows; a value that begins on another line than its dash.
var errShape = errors.New("the text cannot be changed in place")

// failure is the error with which the functions of this package leave splice or rewrite.
type failure struct{ error }

func check(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// require leaves with errShape where the text has another shape.
func require(holds bool) {
	if !holds {
		panic(failure{errShape})
	}
}

// recovered makes an error of a failure.
func recovered(err *error) {
	switch r := recover().(type) {
	case nil:
	case failure:
		*err = r.error
	default:
		panic(r)
	}
}

// editor collects changes of a text.
type editor struct {
	text    []byte
	lines   []int // where each begins
	eol     string
	json    bool
	dash    int // how far sequences are indented below their key
	changes []change
}

// change puts a text in the place of another.
type change struct {
	start, end int
	text       string
}

func splice(document []byte, want any) (edited []byte, err error) {
	defer recovered(&err)
	have, err := Parse(document)
	check(err)
	var root yamlv3.Node
	require(yamlv3.Unmarshal(document, &root) == nil && len(root.Content) == 1 && have != nil)
	e := newEditor(document, root.Content[0])
	e.diff(root.Content[0], have, want, place{root: true})
	return e.apply(), nil
}

func newEditor(text []byte, root *yamlv3.Node) *editor {
	e := &editor{text: text, lines: []int{0}, eol: "\n", json: json.Valid(text), dash: dashOf(root)}
	for at, c := range text {
		if c == '\n' && at+1 < len(text) {
			e.lines = append(e.lines, at+1)
		}
	}
	crlf := bytes.Count(text, []byte("\r\n"))
	if crlf > 0 {
		e.eol = "\r\n"
	}
	require(bytes.Count(text, []byte("\r")) == crlf && !bytes.ContainsAny(text, "\u0085\u2028\u2029\ufeff")) // else the parser counts other lines
	return e
}

// dashOf returns how far the document indents a sequence below its key, as far as it shows.
func dashOf(node *yamlv3.Node) int {
	for i, child := range node.Content {
		if node.Kind == yamlv3.MappingNode && i%2 == 1 && child.Kind == yamlv3.SequenceNode && child.Style&yamlv3.FlowStyle == 0 {
			return max(child.Column-node.Content[i-1].Column, 0)
		}
		if found := dashOf(child); found >= 0 {
			return found
		}
	}
	if node.Kind == yamlv3.DocumentNode || node.Column == 1 && node.Kind == yamlv3.MappingNode {
		return 0
	}
	return -1
}

// apply makes the changes, which were found in their order.
func (e *editor) apply() []byte {
	slices.SortStableFunc(e.changes, func(a, b change) int { return cmp.Compare(a.start, b.start) })
	var out bytes.Buffer
	at := 0
	for _, c := range e.changes {
		require(c.start >= at) // else it is within another change
		out.Write(e.text[at:c.start])
		out.WriteString(c.text)
		at = c.end
	}
	out.Write(e.text[at:])
	return out.Bytes()
}

func (e *editor) replace(start, end int, text string) {
	e.changes = append(e.changes, change{start, end, text})
}

// insertLines puts lines below the line of a position.
func (e *editor) insertLines(position int, lines []string) {
	text := strings.Join(lines, e.eol)
	if next := e.nextLine(position); next > 0 && e.text[next-1] == '\n' {
		e.replace(next, next, text+e.eol)
	} else {
		e.replace(len(e.text), len(e.text), e.eol+text)
	}
}

// rewrite writes a document anew, below the lines before its first.
func rewrite(document []byte, want any) (edited []byte, err error) {
	defer recovered(&err)
	if json.Valid(document) {
		trimmed := bytes.TrimRight(document, " \t\r\n")
		out, err := json.MarshalIndent(want, "", "  ")
		if !bytes.Contains(trimmed, []byte("\n")) {
			out, err = json.Marshal(want)
		}
		return append(out, document[len(trimmed):]...), err
	}
	eol := "\n"
	if bytes.Contains(document, []byte("\r\n")) {
		eol = "\r\n"
	}
	return append(head(document), (strings.Join(block(want, true), eol) + eol)...), nil
}

// head returns what stands before the object: separator, comments, blank lines.
func head(document []byte) []byte {
	at := 0
	for line := range bytes.Lines(document) {
		rest := bytes.TrimSpace(line)
		if separator(line) {
			rest = bytes.TrimSpace(rest[len("---"):])
		}
		if len(rest) > 0 && rest[0] != '#' {
			if separator(line) { // the object begins behind it
				return append(slices.Clone(document[:at]), "---\n"...)
			}
			break
		}
		at += len(line)
	}
	return slices.Clone(document[:at])
}
