// Command gen writes the generated files of the charts. Run it in the repository's root. It writes:
//
//   - values.schema.json from each chart's values.yaml, and keys.json for a chart that takes any key at the root
//   - SHA256SUMS of the files that a chart links to
//   - templates/_workload.tpl, the same in both charts
//   - the lines that several policies share, and the lists of variables in policies and in the replicator's cage
//
// In values.yaml, a comment right above a key says:
//
//	# -- What it is, for the schema. It may go on in further lines.
//	# @schema {enum: [a, b]}
//	key: a
//
// A description may also stand behind the value. @schema is JSON Schema, in YAML, to the end of the comment; the type is
// that of the default, unless it says otherwise. Any other comment is for readers of the file alone.
//
//   - A map with descriptions in it has those keys and no others, unless @schema says additionalProperties: true. At the
//     root, what is nearly a key of the chart is then refused by keys.json, but not what is nearly one with read: false.
//   - A map or a list without any is its user's: @schema must say what may be in it.
//   - A map with workload: true is a workload's, and takes the keys of workload.yaml, too. Those that have a default stand in
//     it, and need no comment.
//   - null removes a default, with Helm. Where the default is not empty, that is an error, unless @schema says
//     required: false.
//
// There must be no pattern on what may hold a password: Helm would print it.
package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// linked are the folders of each chart that are in the package, but not in its folder.
var linked = map[string][]string{
	"fairlead":          {"crds", "rbac", "rollout", "observe", "observe-machines", "deliver", "preflight", "status-page", "owner-references", "node-files"},
	"fairlead-policies": {"policies"},
}

func main() {
	err := copyAlike("policies")
	policies, _ := filepath.Glob("policies/*/*.yaml")
	for _, path := range append(policies, "charts/fairlead-policies/templates/replicator-cage.yaml") {
		err = errors.Join(err, renewVariables(path))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for _, chart := range slices.Sorted(maps.Keys(linked)) {
		if err := generate(filepath.Join("charts", chart), linked[chart]); err != nil {
			fmt.Fprintf(os.Stderr, "charts/%s: %v\n", chart, err)
			os.Exit(1)
		}
	}
}

func generate(chart string, folders []string) error {
	text, err := os.ReadFile(filepath.Join(chart, "values.yaml"))
	if err != nil {
		return err
	}
	values, err := readValues(text)
	if err != nil {
		return fmt.Errorf("values.yaml: %w", err)
	}
	definitions, err := readDefinitions("config/crd")
	if err != nil {
		return err
	}
	schema, err := schemaOf(values, definitions)
	if err != nil {
		return fmt.Errorf("values.yaml: %w", err)
	}
	known, err := keysOf(values)
	if err != nil {
		return err
	}
	sums, err := checksums(os.DirFS(chart), folders)
	if err != nil {
		return err
	}
	for name, content := range map[string][]byte{
		"values.schema.json": schema, "keys.json": known, "SHA256SUMS": sums,
		"templates/_workload.tpl": []byte(strings.ReplaceAll(workloadTemplates, "CHART", filepath.Base(chart))), // a parent chart has one set of names
	} {
		if content == nil {
			continue
		}
		if err := os.WriteFile(filepath.Join(chart, name), content, 0o600); err != nil {
			return err
		}
	}
	return nil
}
