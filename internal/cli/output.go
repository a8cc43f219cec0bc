package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/client-go/util/jsonpath"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/internal/cli/terminal"
)

const (
	// tableOutput is the output for people, of the verbs that also have one for programs.
	tableOutput = "table"
	wideOutput  = "wide" // the same with more columns
	nameOutput  = "name" // what other commands take as arguments
	// jsonPath stands before a template, as with kubectl.
	jsonPath = "jsonpath="
)

var (
	dataOutputs = []string{tableOutput, "json", "yaml", jsonPath}
	listOutputs = []string{tableOutput, wideOutput, nameOutput, "json", "yaml", jsonPath}
)

func outputFlag(cmd *cobra.Command, into *string, standard string, all []string) {
	cmd.Flags().StringVarP(into, "output", "o", standard, "one of "+strings.Join(all, ", "))
	complete(cmd, "output", fixed(all...))
}

func checkOutput(given string, all []string) error {
	if template, ok := strings.CutPrefix(given, jsonPath); ok && slices.Contains(all, jsonPath) {
		if err := jsonpath.New("").Parse(template); template == "" || err != nil {
			return fmt.Errorf("-o %s takes a template such as {.x}", jsonPath)
		}
		return nil
	}
	return oneOf("-o", given, all)
}

// printFound writes a text for people, or the data.
func printFound(out io.Writer, format string, data any, text func(terminal.Style) []byte) error {
	if format != tableOutput && format != wideOutput {
		return printData(out, format, data)
	}
	_, err := out.Write(text(terminal.For(out)))
	return err
}

// printData writes JSON without escapes for HTML, YAML, or what a template takes of it.
func printData(out io.Writer, format string, data any) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(data)
	switch template, ok := strings.CutPrefix(format, jsonPath); {
	case err != nil:
		return err
	case ok:
		return printPath(out, template, text.Bytes())
	case format == "yaml":
		converted, err := yaml.JSONToYAML(text.Bytes())
		if err != nil {
			return err
		}
		_, err = out.Write(converted)
		return err
	}
	_, err = text.WriteTo(out)
	return err
}

// printPath prints as kubectl does: a missing field is empty, and no line end is added to the template's.
func printPath(out io.Writer, template string, encoded []byte) error {
	var data any
	path := jsonpath.New("").AllowMissingKeys(true)
	if err := json.Unmarshal(encoded, &data); err != nil {
		return err
	}
	if err := path.Parse(template); err != nil {
		return err
	}
	var text bytes.Buffer
	if err := path.Execute(&text, data); err != nil {
		return fmt.Errorf("-o %s: %w", jsonPath, err)
	}
	_, err := text.WriteTo(out)
	return err
}

// ownerName is an owner, and the namespace that kubectl must be told.
type ownerName struct{ namespace, owner string }

// printNames writes each name once, in lower case and a line of its own, as kubectl takes them: deployment/web.
// Names of several namespaces are an error: whoever reads them could not tell whose they are.
func printNames(out io.Writer, owners []ownerName) error {
	var text bytes.Buffer
	seen := map[string]bool{}
	for _, o := range owners {
		if first := owners[0].namespace; o.namespace != first {
			return fmt.Errorf("-o name says no namespace, and there are owners in %s and %s: choose one with -n, or use -o jsonpath", first, o.namespace)
		}
		kind, name, isNamed := strings.Cut(o.owner, "/")
		if isNamed && !seen[o.owner] {
			seen[o.owner] = true
			fmt.Fprintln(&text, terminal.ASCII(strings.ToLower(kind)+"/"+name))
		}
	}
	_, err := text.WriteTo(out)
	return err
}
