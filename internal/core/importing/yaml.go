package importing

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"iter"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/fairlead-io/fairlead/internal/core/cabundle"
	"github.com/fairlead-io/fairlead/internal/core/proxyurl"
	"github.com/fairlead-io/fairlead/noproxy"
)

var lineOfError = regexp.MustCompile(`line (\d+)`)

// parse reads YAML or JSON: the documents, and those of Lists as kubectl prints them. No error quotes the text, which may have
// a password.
func (f *file) parse() ([]*yaml.Node, error) {
	var all []*yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(f.data))
	for {
		var node yaml.Node
		err := decoder.Decode(&node)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			at := f.name
			if line := lineOfError.FindStringSubmatch(err.Error()); line != nil {
				at += ":" + line[1]
			}
			return nil, fmt.Errorf("%s: not valid YAML", at)
		}
		all = append(all, flattened(target(node.Content[0]))...)
	}
}

// flattened returns the mappings: the document, the items of a List, or those of a list as az prints it.
func flattened(root *yaml.Node) []*yaml.Node {
	list := root
	if strings.HasSuffix(text(root, "kind"), "List") {
		list = get(root, "items")
	}
	all := []*yaml.Node{root}
	if list != nil && list.Kind == yaml.SequenceNode {
		all = items(list)
	}
	return slices.DeleteFunc(all, func(n *yaml.Node) bool { return n.Kind != yaml.MappingNode })
}

// target returns the node that an alias stands for.
func target(n *yaml.Node) *yaml.Node {
	for range 10 { // an alias of an alias is no YAML
		if n.Kind != yaml.AliasNode {
			break
		}
		n = n.Alias
	}
	return n
}

// get returns what stands at a path of keys, or nil. What is null is not there.
func get(n *yaml.Node, path ...string) *yaml.Node {
	for _, key := range path {
		if n == nil || n.Kind != yaml.MappingNode {
			return nil
		}
		var found *yaml.Node
		for k, value := range pairs(n) {
			if k.Value == key {
				found = target(value)
			}
		}
		n = found
	}
	if n != nil && n.Tag == nullTag {
		return nil
	}
	return n
}

// pairs returns the keys of a mapping with their values.
func pairs(n *yaml.Node) iter.Seq2[*yaml.Node, *yaml.Node] {
	return func(yield func(key, value *yaml.Node) bool) {
		for i := 0; i+1 < len(n.Content); i += 2 {
			if !yield(n.Content[i], n.Content[i+1]) {
				return
			}
		}
	}
}

// items returns the items of a list.
func items(n *yaml.Node) []*yaml.Node {
	if n == nil || n.Kind != yaml.SequenceNode {
		return nil
	}
	var all []*yaml.Node
	for _, item := range n.Content {
		all = append(all, target(item))
	}
	return all
}

const (
	nullTag  = "!!null"
	mergeTag = "!!merge"
)

// text returns the scalar at a path; "" for anything else.
func text(n *yaml.Node, path ...string) string {
	if n = get(n, path...); n == nil || n.Kind != yaml.ScalarNode {
		return ""
	}
	return n.Value
}

// texts returns the scalars of the list at a path.
func texts(n *yaml.Node, path ...string) []string {
	var all []string
	for _, item := range items(get(n, path...)) {
		if value := text(item); value != "" {
			all = append(all, value)
		}
	}
	return all
}

// role is the meaning of a key.
type role int

const (
	isHTTP role = iota // says: the scheme may be missing, and this is said then
	isHTTPS
	isNoProxy   // a string with commas, or a list
	isEffective // the whole list as the system reports it
	isHTTPInUse // the URL as the system reports it
	isHTTPSInUse
	isCA  // a ConfigMap's name, below name
	isPEM // base64 of a PEM bundle
	isOff // false: there is no proxy
	isUnsupported
)

// row of a table says what a key means.
type row struct {
	key  string
	role role
	says string
}

// mapping reads a mapping whose keys are all about the proxy.
func (f *file) mapping(s *Settings, n *yaml.Node, path string, rows []row) error {
	if n == nil || n.Kind != yaml.MappingNode {
		line := 0
		if n != nil {
			line = n.Line
		}
		return f.at(line, strings.TrimSuffix(path, ".")).errorf("a mapping is expected")
	}
	for key, value := range pairs(n) {
		value = target(value)
		at := f.at(key.Line, path+key.Value)
		known := false
		for _, r := range rows {
			if r.key != key.Value {
				continue
			}
			known = true
			if err := f.apply(s, r, value, at); err != nil {
				return err
			}
		}
		switch {
		case known:
		case key.Tag == mergeTag && value.Kind != yaml.ScalarNode:
			s.say(at, NotSupported, "merge keys are not read: write the keys themselves here")
		case !isKey(n, key, value):
			s.say(f.at(key.Line, strings.TrimSuffix(path, ".")), NotRecognised, "a key that is not shown, since it may be a piece of a password: are quotes missing?")
		default:
			s.say(at, NotRecognised, "")
		}
	}
	return nil
}

// isKey tells a key from what may be a piece of a password, as word of {http: http://me:pass,word,12@proxy}.
func isKey(in, key, value *yaml.Node) bool {
	alone := in.Style&yaml.FlowStyle != 0 && value.Tag == nullTag && value.Value == ""
	return identifier.MatchString(key.Value) && !alone
}

func (f *file) apply(s *Settings, r row, n *yaml.Node, at Place) error {
	switch r.role {
	case isHTTP, isHTTPS:
		return s.applyURL(r, n, at)
	case isNoProxy, isEffective:
		entries, err := f.entries(n, at)
		if r.role == isEffective {
			s.Effective = entries
			s.say(at, Understood, r.says)
		} else {
			s.NoProxy = append(s.NoProxy, entries...)
		}
		return err
	case isHTTPInUse:
		return s.inUse(s.HTTP, n, at)
	case isHTTPSInUse:
		return s.inUse(s.HTTPS, n, at)
	case isCA:
		name := text(n, "name")
		if name == "" {
			s.say(at, Understood, "empty: no certificates")
			return nil
		}
		s.CA = CA{Name: name, Key: r.says}
		s.say(at, Understood, "copy this ConfigMap into the operator's namespace")
	case isPEM:
		return s.pem(n, at)
	case isOff:
		if value, err := scalar(n, at); err != nil || value == "false" || value == "no" {
			return at.errorf("is off: there is nothing to import")
		}
		s.say(at, Understood, "")
	case isUnsupported:
		s.say(at, NotSupported, r.says)
	}
	return nil
}

func (s *Settings) applyURL(r row, n *yaml.Node, at Place) error {
	value, err := scalar(n, at)
	if err != nil {
		return err
	}
	into := &s.HTTP
	if r.role == isHTTPS {
		into = &s.HTTPS
	}
	bare := r.says != "" && value != "" && !strings.Contains(value, "://")
	if bare {
		value = "http://" + value
	}
	before := len(s.Lines)
	if err := s.setURL(into, value, at); err != nil || !bare {
		return err
	}
	s.addNote(before, at, r.says)
	return nil
}

// inUse compares a URL that the system reports with the configured one, which is imported.
func (s *Settings) inUse(configured URL, n *yaml.Node, at Place) error {
	value, err := scalar(n, at)
	if err != nil {
		return err
	}
	used, err := proxyurl.Parse(value)
	switch same := err == nil && used.Equal(configured.URL); {
	case same:
		s.say(at, Understood, "the same as in spec")
	case value == "":
		s.say(at, Understood, "empty: none is in use")
	default:
		s.say(at, NotSupported, "is in use, and another one than in spec, which is imported")
	}
	return nil
}

func scalar(n *yaml.Node, at Place) (string, error) {
	if n.Kind != yaml.ScalarNode {
		return "", at.errorf("a string is expected")
	}
	if n.Tag == nullTag {
		return "", nil
	}
	return n.Value, nil
}

// entries returns the entries of a list, or of a string with commas.
func (f *file) entries(n *yaml.Node, at Place) ([]Entry, error) {
	if n.Kind != yaml.SequenceNode {
		value, err := scalar(n, at)
		return cut(value, at), err
	}
	var all []Entry
	for i, item := range items(n) {
		where := f.at(n.Content[i].Line, fmt.Sprintf("%s[%d]", at.Field, i))
		value, err := scalar(item, where)
		if err != nil {
			return nil, err
		}
		for _, e := range cut(value, where) {
			e.Place = where
			all = append(all, e)
		}
	}
	return all, nil
}

// cut cuts a list at its commas.
func cut(list string, at Place) []Entry {
	var all []Entry
	for _, e := range noproxy.Cut(list, noproxy.Source{Field: at.Field}) {
		if e.Text != "" {
			all = append(all, Entry{Text: e.Text, Place: Place{at.File, at.Line, e.Source.Field}})
		}
	}
	return all
}

func (s *Settings) pem(n *yaml.Node, at Place) error {
	value, err := scalar(n, at)
	if err != nil || value == "" {
		return err
	}
	data, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(value), ""))
	if err != nil {
		return at.errorf("not base64 of a PEM bundle")
	}
	if _, err := cabundle.Parse(data); err != nil {
		return at.errorf("%w", err)
	}
	s.CA = CA{PEM: data}
	s.say(at, Understood, "goes into a ConfigMap")
	return nil
}
