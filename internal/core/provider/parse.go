package provider

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/internal/core/yamldoc"
)

// document is the form of providers.yaml and of the users' ConfigMap entries. The rows stay raw at
// first so that an error can name the row it is in.
type document struct {
	Rows []json.RawMessage `json:"rows"`
}

// Parse reads rows in YAML or JSON. The name is what errors and the rows' Source call it: a file, a
// ConfigMap with its key. It is strict, since a typo in an optional field would otherwise make a list
// that lacks a network: unknown and repeated fields, several documents, two rows for a kind, and
// paths, addresses, CIDRs and domains that are none, are errors. All of them are returned, joined, each
// naming the source, the row, the field and the reason.
func Parse(name string, data []byte) ([]Row, error) {
	doc, err := readDocument(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	var (
		rows []Row
		errs []error
		seen = map[groupKind]int{}
	)
	for i, raw := range doc.Rows {
		row, problems := readRow(raw)
		row.Source = name
		if first, ok := seen[row.key()]; ok {
			problems = append(problems, fmt.Errorf("kind: rows[%d] is for %s too", first, row.key()))
		}
		seen[row.key()] = i
		for _, problem := range problems {
			errs = append(errs, fmt.Errorf("%s: rows[%d] %s: %w", name, i, row.Kind, problem))
		}
		rows = append(rows, row)
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return rows, nil
}

func readDocument(data []byte) (document, error) {
	var doc document
	if yamldoc.Several(data) {
		return doc, errors.New("has more than one document")
	}
	text, err := yaml.YAMLToJSONStrict(data)
	if err != nil {
		return doc, fmt.Errorf("not YAML: %w", err)
	}
	strict, err := kjson.UnmarshalStrict(text, &doc)
	if err = errors.Join(append(strict, err)...); err == nil && doc.Rows == nil {
		err = errors.New("rows: is not there")
	}
	return doc, err
}

func readRow(raw []byte) (Row, []error) {
	var row Row
	problems, err := kjson.UnmarshalStrict(raw, &row)
	if err != nil {
		return row, []error{err}
	}
	return row, slices.Concat(problems, row.check())
}
