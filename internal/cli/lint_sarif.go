package cli

import (
	"bytes"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/core/lint"
	"github.com/fairlead-io/fairlead/internal/version"
	"github.com/fairlead-io/fairlead/noproxy/explain"
)

// sarifLog has the findings of lint as code hosts read them: SARIF 2.1.0
// (docs.oasis-open.org/sarif/sarif/v2.1.0), as far as lint has it to say.
type sarifLog struct {
	Version string     `json:"version"`
	Schema  string     `json:"$schema"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool struct {
		Driver struct {
			Name           string      `json:"name"`
			Version        string      `json:"version"`
			InformationURI string      `json:"informationUri"`
			Rules          []sarifRule `json:"rules"`
		} `json:"driver"`
	} `json:"tool"`
	Results []sarifResult `json:"results"`
}

type sarifRule struct {
	ID      string `json:"id"`
	HelpURI string `json:"helpUri"`
}

type sarifResult struct {
	RuleID    string          `json:"ruleId"`
	RuleIndex int             `json:"ruleIndex"`
	Level     string          `json:"level"`
	Message   sarifMessage    `json:"message"`
	Locations []sarifLocation `json:"locations,omitempty"`
}

type sarifMessage struct {
	Text string `json:"text"`
}

type sarifLocation struct {
	Physical *sarifPhysical `json:"physicalLocation,omitempty"`
	Logical  []sarifLogical `json:"logicalLocations,omitempty"`
}

type sarifPhysical struct {
	Artifact struct {
		URI string `json:"uri"`
	} `json:"artifactLocation"`
	Region *sarifRegion `json:"region,omitempty"`
}

type sarifRegion struct {
	StartLine int `json:"startLine"`
}

type sarifLogical struct {
	FullyQualifiedName string `json:"fullyQualifiedName"`
}

const (
	sarifSchema = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
	project     = "https://github.com/fairlead-io/fairlead"
	codesPage   = project + "/blob/main/docs/reference/lint.md#codes"
)

// sarifLevels are SARIF's words for severities.
var sarifLevels = map[lint.Severity]string{lint.Error: "error", lint.Warning: "warning", lint.Info: "note"}

// sarifSource is the file that a list was written in, with its text to look for lines in.
type sarifSource struct {
	file string
	text []byte
}

// sarifOf returns the log of findings about lists that stand in a source.
func sarifOf(source sarifSource, results []lint.Result) sarifLog {
	all := sarifRun{Results: []sarifResult{}}
	tool := &all.Tool.Driver
	tool.Name, tool.Version, tool.InformationURI, tool.Rules = "fairlead lint", version.Version, project, []sarifRule{}
	for _, linted := range results {
		for _, f := range linted.Findings {
			at := slices.IndexFunc(tool.Rules, func(r sarifRule) bool { return r.ID == string(f.Code) })
			if at < 0 {
				at = len(tool.Rules)
				tool.Rules = append(tool.Rules, sarifRule{string(f.Code), codesPage})
			}
			all.Results = append(all.Results, sarifResult{
				RuleID: string(f.Code), RuleIndex: at, Level: sarifLevels[f.Severity],
				Message: sarifMessage{sarifText(linted.Title(), f)}, Locations: source.locations(linted, f.Entries),
			})
		}
	}
	return sarifLog{"2.1.0", sarifSchema, []sarifRun{all}}
}

func sarifText(title string, f lint.Finding) string {
	var parts []string
	if title != "" {
		parts = append(parts, title+":")
	}
	if len(f.Entries) > 0 {
		parts = append(parts, lint.Listed(f.Entries)+":")
	}
	parts = append(parts, f.Why+".")
	if f.Mend != "" {
		parts = append(parts, "Mend: "+f.Mend+".")
	}
	if len(f.Clients) > 0 {
		parts = append(parts, "Clients: "+strings.Join(f.Clients, ", ")+".")
	}
	return strings.Join(parts, " ")
}

// locations returns the locations of the list in manifests, or of each entry, or else of the file: code hosts do not
// show a result without a location.
func (s sarifSource) locations(linted lint.Result, entries []lint.Entry) []sarifLocation {
	var all []sarifLocation
	for _, p := range linted.Places {
		name := strings.TrimSpace(p.Object + " " + p.Field)
		all = append(all, sarifLocation{Physical: sarifFile(p.File), Logical: []sarifLogical{{name}}})
	}
	if len(all) > 0 {
		return all
	}
	if len(entries) == 0 {
		entries = []lint.Entry{{}}
	}
	for _, e := range entries {
		at := sarifLocation{Physical: s.physical(e)}
		if name := strings.TrimSpace(strings.Join([]string{linted.Title(), e.Object, e.Field}, " ")); name != "" {
			at.Logical = []sarifLogical{{name}}
		}
		if at.Physical != nil || at.Logical != nil {
			all = append(all, at)
		}
	}
	return all
}

// sarifFile returns a file as a whole; nil for standard input.
func sarifFile(file string) *sarifPhysical {
	if file == "" || file == "-" {
		return nil
	}
	uri := url.URL{Path: filepath.ToSlash(file)}
	if filepath.IsAbs(file) {
		uri.Scheme = "file"
	}
	at := &sarifPhysical{}
	at.Artifact.URI = uri.String()
	return at
}

func (s sarifSource) physical(e lint.Entry) *sarifPhysical {
	at := sarifFile(s.file)
	if at == nil {
		return nil
	}
	if line := s.line(e.Value); line > 0 && e.Object == s.file {
		at.Region = &sarifRegion{line}
	}
	return at
}

// line returns the line that has the entry, if only one has.
func (s sarifSource) line(entry string) int {
	shown := []byte(explain.Shown(entry))
	before, after, ok := bytes.Cut(s.text, shown)
	_, other, _ := bytes.Cut(after, []byte("\n"))
	if !ok || bytes.Contains(other, shown) {
		return 0
	}
	return bytes.Count(before, []byte("\n")) + 1
}
