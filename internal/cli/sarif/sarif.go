// Package sarif writes the findings of lint as code hosts read them: SARIF 2.1.0
// (docs.oasis-open.org/sarif/sarif/v2.1.0), as far as lint has it to say.
package sarif

import (
	"bytes"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/core/fleet"
	"github.com/fairlead-io/fairlead/internal/core/lint"
	"github.com/fairlead-io/fairlead/internal/version"
	"github.com/fairlead-io/fairlead/operator/noproxy/explain"
)

// Log is what is printed, as JSON.
type Log struct {
	Version string `json:"version"`
	Schema  string `json:"$schema"`
	Runs    []run  `json:"runs"`
}

type run struct {
	Tool struct {
		Driver driver `json:"driver"`
	} `json:"tool"`
	Results []result `json:"results"`
}

type driver struct {
	Name           string `json:"name"`
	Version        string `json:"version"`
	InformationURI string `json:"informationUri"`
	Rules          []rule `json:"rules"`
}

type rule struct {
	ID      string `json:"id"`
	HelpURI string `json:"helpUri"`
}

type result struct {
	RuleID    string     `json:"ruleId"`
	RuleIndex int        `json:"ruleIndex"`
	Level     string     `json:"level"`
	Message   message    `json:"message"`
	Locations []location `json:"locations,omitempty"`
}

type message struct {
	Text string `json:"text"`
}

type location struct {
	Physical *physical `json:"physicalLocation,omitempty"`
	Logical  []logical `json:"logicalLocations,omitempty"`
}

type physical struct {
	Artifact struct {
		URI string `json:"uri"`
	} `json:"artifactLocation"`
	Region *region `json:"region,omitempty"`
}

type region struct {
	StartLine int `json:"startLine"`
}

type logical struct {
	FullyQualifiedName string `json:"fullyQualifiedName"`
}

const (
	schema    = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
	project   = "https://github.com/fairlead-io/fairlead"
	codesPage = project + "/blob/main/docs/reference/lint.md#codes"
)

// levels are SARIF's words for severities.
var levels = map[lint.Severity]string{lint.Error: "error", lint.Warning: "warning", lint.Info: "note"}

// Source is the file that a list was written in, with its text to look for lines in.
type Source struct {
	File string
	Text []byte
}

// Of returns the log of findings about lists that stand in a source.
func Of(source Source, results []fleet.Linted) Log {
	all := run{Results: []result{}}
	tool := &all.Tool.Driver
	*tool = driver{Name: "fairlead lint", Version: version.Version, InformationURI: project, Rules: []rule{}}
	for _, of := range results {
		about := of.Title()
		for _, f := range of.Findings {
			at := slices.IndexFunc(tool.Rules, func(r rule) bool { return r.ID == string(f.Code) })
			if at < 0 {
				at = len(tool.Rules)
				tool.Rules = append(tool.Rules, rule{string(f.Code), codesPage})
			}
			all.Results = append(all.Results, result{
				RuleID: string(f.Code), RuleIndex: at, Level: levels[f.Severity],
				Message: message{text(about, f)}, Locations: source.locations(of, f.Entries),
			})
		}
	}
	return Log{"2.1.0", schema, []run{all}}
}

func text(cluster string, f lint.Finding) string {
	var parts []string
	if cluster != "" {
		parts = append(parts, cluster+":")
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

// locations are one for each entry, or that of the file: what has none is not shown by code hosts.
func (s Source) locations(of fleet.Linted, entries []lint.Entry) []location {
	if len(of.Places) > 0 {
		return placed(of.Places)
	}
	if len(entries) == 0 {
		entries = []lint.Entry{{}}
	}
	var all []location
	for _, e := range entries {
		at := location{Physical: s.physical(e)}
		if name := strings.TrimSpace(strings.Join([]string{of.Title(), e.Object, e.Field}, " ")); name != "" {
			at.Logical = []logical{{name}}
		}
		if at.Physical != nil || at.Logical != nil {
			all = append(all, at)
		}
	}
	return all
}

// placed are the places of lists in manifests.
func placed(places []fleet.Place) []location {
	var all []location
	for _, p := range places {
		name := strings.TrimSpace(p.Object + " " + p.Field)
		all = append(all, location{Physical: in(p.File), Logical: []logical{{name}}})
	}
	return all
}

// in is a file as a whole.
func in(file string) *physical {
	if file == "" || file == "-" {
		return nil
	}
	uri := url.URL{Path: filepath.ToSlash(file)}
	if filepath.IsAbs(file) {
		uri.Scheme = "file"
	}
	at := &physical{}
	at.Artifact.URI = uri.String()
	return at
}

func (s Source) physical(e lint.Entry) *physical {
	at := in(s.File)
	if at == nil {
		return nil
	}
	if line := s.line(e.Value); line > 0 && e.Object == s.File {
		at.Region = &region{line}
	}
	return at
}

// line is the one that has the entry, where no other has, too.
func (s Source) line(entry string) int {
	before, after, found := bytes.Cut(s.Text, []byte(explain.Shown(entry)))
	_, other, _ := bytes.Cut(after, []byte("\n"))
	if !found || bytes.Contains(other, []byte(explain.Shown(entry))) {
		return 0
	}
	return bytes.Count(before, []byte("\n")) + 1
}
