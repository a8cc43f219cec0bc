package lint

import (
	"fmt"
	"strings"
)

// Result has the findings about one list.
type Result struct {
	Cluster  string    `json:"cluster,omitempty"`
	Unit     string    `json:"unit,omitempty"`   // of systemd
	Places   []Place   `json:"places,omitempty"` // in manifests: of each list that is alike
	Findings []Finding `json:"findings"`

	List string `json:"-"` // that was looked at; empty: none, or no proxy
}

// Place is where a list stands, or should.
type Place struct {
	File   string `json:"file,omitempty"`
	Object string `json:"object,omitempty"` // kind, namespace and name
	Field  string `json:"field"`
}

// String is for people.
func (p Place) String() string {
	text := strings.TrimSpace(p.Object + " " + p.Field)
	if p.File == "" {
		return text
	}
	return p.File + ": " + text
}

// Title says which list it is, and for which cluster; empty if it is the only one.
func (r Result) Title() string {
	var first []string
	for _, place := range r.Places[:min(len(r.Places), 3)] {
		first = append(first, place.String())
	}
	places := strings.Join(first, ", ")
	if more := len(r.Places) - 3; more > 0 {
		places += fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(strings.Fields(strings.Join([]string{r.Unit, places, r.Cluster}, " ")), " ")
}
