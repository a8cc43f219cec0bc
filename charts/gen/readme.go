package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

const (
	tableBegins = "<!-- Made of values.yaml by make generate. -->\n"
	tableEnds   = "<!-- End of what is made. -->\n"
)

// withTable returns a README with its table of values replaced.
func withTable(readme []byte, table string) ([]byte, error) {
	before, rest, begins := bytes.Cut(readme, []byte(tableBegins))
	_, after, ends := bytes.Cut(rest, []byte(tableEnds))
	if !begins || !ends {
		return nil, errors.New("no place for the table of values: write the two comments that are around it")
	}
	return fmt.Appendf(nil, "%s%s%s%s%s", before, tableBegins, table, tableEnds, after), nil
}

// table has a row for each value that can be given.
func table(values field) string {
	var text strings.Builder
	text.WriteString("| value | default | |\n| --- | --- | --- |\n")
	rows(&text, values)
	workloadRows(&text, values)
	return text.String()
}

func rows(text *strings.Builder, of field) {
	for _, f := range of.fields {
		if f.shared {
			continue
		}
		if f.fields != nil {
			rows(text, f)
			continue
		}
		fmt.Fprintf(text, "| `%s` | %s | %s |\n", f.path, defaultOf(f.value), strings.ReplaceAll(f.description, "|", `\|`))
	}
}

// defaultOf is what fits into a cell.
func defaultOf(value *yaml.Node) string {
	var content any
	if err := value.Decode(&content); err != nil {
		return "see [values.yaml](values.yaml)"
	}
	var encoded bytes.Buffer
	encoder := json.NewEncoder(&encoded)
	encoder.SetEscapeHTML(false)
	text := ""
	if encoder.Encode(content) == nil {
		text = strings.TrimSpace(encoded.String())
	}
	switch {
	case text == `""` || text == "[]" || text == "{}" || text == "null":
		return ""
	case text == "" || len(text) > 60:
		return "see [values.yaml](values.yaml)"
	}
	return "`" + strings.Trim(text, `"`) + "`"
}
