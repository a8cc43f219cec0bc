// Package table reads and writes the project's table of measured cases: the
// questions in it, and the answers of the clients that were measured again.
package table

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/fairlead-io/fairlead/noproxy/dialect/vector"
)

// Row is a line of a file. It is vector.Row, but keeps the order of the
// variables, and does not have to be of a client that has a dialect.
type Row struct {
	Client   string          `json:"client,omitempty"`
	Version  string          `json:"version,omitempty"`
	Name     string          `json:"name,omitempty"`
	NoProxy  json.RawMessage `json:"noProxy,omitempty"` // null is not the same as none
	Env      json.RawMessage `json:"env,omitempty"`
	URL      string          `json:"url"`
	Expect   string          `json:"expect,omitempty"`
	Observed string          `json:"observed,omitempty"`
	Source   string          `json:"source,omitempty"`
	Group    string          `json:"group,omitempty"`
	Note     string          `json:"note,omitempty"`
}

// OfList reports whether the question is about the list.
func (r Row) OfList() bool { return r.Env == nil }

// key tells questions apart: two rows of a client with the same one would be the
// same row.
func (r Row) key() string {
	variables := map[string]string{}
	_ = json.Unmarshal(r.Env, &variables)
	sorted, _ := json.Marshal(variables) // maps are written in the order of their keys
	return string(r.NoProxy) + " " + string(sorted) + " " + r.URL
}

// Vector returns the row as the dialects' tests see it.
func (r Row) Vector() (vector.Row, error) {
	row := vector.Row{
		Client: r.Client, Version: r.Version, Name: r.Name, URL: r.URL,
		Expect: r.Expect, Observed: r.Observed, Source: r.Source, Group: r.Group,
	}
	if r.NoProxy != nil {
		if err := json.Unmarshal(r.NoProxy, &row.NoProxy); err != nil {
			return row, fmt.Errorf("noProxy: %w", err)
		}
	}
	if r.Env != nil {
		if err := json.Unmarshal(r.Env, &row.Env); err != nil {
			return row, fmt.Errorf("env: %w", err)
		}
	}
	return row, nil
}

// Answered returns the row with another answer.
func (r Row) Answered(client, version, answer string) Row {
	r.Client, r.Version, r.Source = client, version, "measured"
	r.Expect, r.Observed = "", ""
	if r.OfList() {
		r.Expect = answer
		r.Name = ""
	} else {
		r.Observed = answer
		r.Group = ""
	}
	return r
}

// Answer returns the measured answer.
func (r Row) Answer() string { return r.Expect + r.Observed }

// String is the question, for people.
func (r Row) String() string {
	if r.OfList() {
		return fmt.Sprintf("%s with noProxy %s", r.URL, r.NoProxy)
	}
	return fmt.Sprintf("%s with env %s (%s)", r.URL, spaced(r.Env), r.Name)
}

// line returns the row as it stands in a file.
func (r Row) line() ([]byte, error) {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(r)
	return spaced(bytes.TrimSuffix(buffer.Bytes(), []byte("\n"))), err
}

// spaced puts a blank after each comma and colon of compact JSON.
func spaced(compact []byte) []byte {
	var out []byte
	quoted := false
	for i, c := range compact {
		out = append(out, c)
		switch {
		case c == '"' && !escaped(compact[:i]):
			quoted = !quoted
		case !quoted && (c == ',' || c == ':') && i+1 < len(compact) && compact[i+1] != ' ':
			out = append(out, ' ')
		}
	}
	return out
}

// escaped reports whether an odd number of backslashes stands at the end.
func escaped(text []byte) bool {
	return (len(text)-len(bytes.TrimRight(text, `\`)))%2 == 1
}
