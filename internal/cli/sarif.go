package cli

import (
	"bytes"
	"io"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/core/lint"
	"github.com/fairlead-io/fairlead/internal/version"
	"github.com/fairlead-io/fairlead/operator/noproxy/explain"
)

// What code hosts read of SARIF 2.1.0 (docs.oasis-open.org/sarif/sarif/v2.1.0), as far as lint has it to say.
type sarifLog struct {
	Version string     `json:"version"`
	Schema  string     `json:"$schema"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool    sarifTool     `json:"tool"`
	Results []sarifResult `json:"results"`
}

type sarifTool struct {
	Driver sarifDriver `json:"driver"`
}

type sarifDriver struct {
	Name           string      `json:"name"`
	Version        string      `json:"version"`
	InformationURI string      `json:"informationUri"`
	Rules          []sarifRule `json:"rules"`
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
	Artifact sarifArtifact `json:"artifactLocation"`
	Region   *sarifRegion  `json:"region,omitempty"`
}

type sarifArtifact struct {
	URI string `json:"uri"`
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
	codesPage   = project + "/blob/main/docs/lint.md#codes"
)

// levels are SARIF's words for severities.
var levels = map[lint.Severity]string{lint.Error: "error", lint.Warning: "warning", lint.Info: "note"}

// sarifSource is the file that a list was written in, with its text to look for lines in.
type sarifSource struct {
	file string
	text []byte
}

func printSARIF(out io.Writer, source sarifSource, results []linted) error {
	driver := sarifDriver{Name: "fairlead lint", Version: version.Version, InformationURI: project, Rules: []sarifRule{}}
	run := sarifRun{Results: []sarifResult{}}
	for _, of := range results {
		for _, f := range of.Findings {
			at := slices.IndexFunc(driver.Rules, func(r sarifRule) bool { return r.ID == string(f.Code) })
			if at < 0 {
				at = len(driver.Rules)
				driver.Rules = append(driver.Rules, sarifRule{string(f.Code), codesPage})
			}
			run.Results = append(run.Results, sarifResult{
				RuleID: string(f.Code), RuleIndex: at, Level: levels[f.Severity],
				Message: sarifMessage{sarifText(of.Cluster, f)}, Locations: source.locations(of.Cluster, f.Entries),
			})
		}
	}
	run.Tool.Driver = driver
	return printData(out, "json", sarifLog{"2.1.0", sarifSchema, []sarifRun{run}})
}

func sarifText(cluster string, f lint.Finding) string {
	var text []string
	if cluster != "" {
		text = append(text, cluster+":")
	}
	if len(f.Entries) > 0 {
		text = append(text, listed(f.Entries)+":")
	}
	text = append(text, f.Why+".")
	if f.Mend != "" {
		text = append(text, "Mend: "+f.Mend+".")
	}
	if len(f.Clients) > 0 {
		text = append(text, "Clients: "+strings.Join(f.Clients, ", ")+".")
	}
	return strings.Join(text, " ")
}

// locations are one for each entry, or that of the file: what has none is not shown by code hosts.
func (s sarifSource) locations(cluster string, entries []lint.Entry) []sarifLocation {
	if len(entries) == 0 {
		entries = []lint.Entry{{}}
	}
	var all []sarifLocation
	for _, e := range entries {
		location := sarifLocation{Physical: s.physical(e)}
		if name := strings.TrimSpace(strings.Join([]string{cluster, e.Object, e.Field}, " ")); name != "" {
			location.Logical = []sarifLogical{{name}}
		}
		if location.Physical != nil || location.Logical != nil {
			all = append(all, location)
		}
	}
	return all
}

func (s sarifSource) physical(e lint.Entry) *sarifPhysical {
	if s.file == "" || s.file == "-" {
		return nil
	}
	uri := url.URL{Path: filepath.ToSlash(s.file)}
	if filepath.IsAbs(s.file) {
		uri.Scheme = "file"
	}
	physical := &sarifPhysical{Artifact: sarifArtifact{uri.String()}}
	if line := s.line(e.Value); line > 0 && e.Object == s.file {
		physical.Region = &sarifRegion{line}
	}
	return physical
}

// line is the one that has the entry, where no other has, too.
func (s sarifSource) line(entry string) int {
	found := 0
	number := 0
	for text := range bytes.Lines(s.text) {
		number++
		if bytes.Contains(text, []byte(explain.Shown(entry))) {
			if found > 0 {
				return 0
			}
			found = number
		}
	}
	return found
}
