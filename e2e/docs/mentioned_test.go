package docs_test

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// mentioned knows the names that commands have beside their verbs and flags: resources, objects of ours, values of our charts.
type mentioned struct {
	source  source
	schemas schemas
	kinds   map[string]bool // all words in lower case
	foreign map[string]bool
}

func readMentioned(t *testing.T) mentioned {
	t.Helper()
	m := mentioned{readSource(t), readSchemas(t), map[string]bool{}, readForeign(t)}
	for w := range m.source.all.words {
		m.kinds[strings.ToLower(w)] = true
	}
	return m
}

var (
	ourObject = regexp.MustCompile(`(?:^|[/=,])(fairlead-[a-z][a-z-]*[a-z])$`)
	resource  = regexp.MustCompile(`^[a-z]+$`)
	takesKind = regexp.MustCompile(`^(?:get|describe|delete|edit|patch|label|annotate|wait)$`)
	setValue  = regexp.MustCompile(`^([a-z]\w*(?:\[\d*\])?(?:\.\w+(?:\[\d*\])?)*)=`)
	ourChart  = regexp.MustCompile(` (?:\S*/)?fairlead(?:-policies)?(?:[ -]|$)`)
)

// check also takes a name that a block of the page makes.
func (m mentioned) check(words []string, blocks string) error {
	var problems []error
	verb, line := "", strings.Join(words, " ")
	for i, w := range words[1:] {
		before := words[i]
		if found := ourObject.FindStringSubmatch(w); found != nil && verb != "create" && !m.is(found[1]) && !m.is(ofEach(found[1])) && !made(blocks, found[1]) {
			problems = append(problems, fmt.Errorf("there is no object or namespace %s", found[1]))
		}
		if set := setValue.FindStringSubmatch(w); set != nil && before == "--set" && words[0] == "helm" && ourChart.MatchString(line) && !m.schemas.claimed(set[1]) {
			problems = append(problems, fmt.Errorf("no chart has the value %s", set[1]))
		}
		if words[0] == "kubectl" && verb == before && takesKind.MatchString(verb) {
			kinds, _, _ := strings.Cut(w, "/")
			for kind := range strings.SplitSeq(kinds, ",") {
				if kind, _, _ = strings.Cut(kind, "."); resource.MatchString(kind) && !m.is(kind) && !m.kinds[kind] && !m.kinds[strings.TrimSuffix(kind, "s")] {
					problems = append(problems, fmt.Errorf("there is no kind %s", kind))
				}
			}
		}
		if verb == "" && resource.MatchString(w) && before != "-n" && before != "--namespace" {
			verb = w
		}
	}
	return errors.Join(problems...)
}

func (m mentioned) is(name string) bool {
	_, foreign := m.foreign[name]
	return foreign || m.source.all.has(name)
}

// ofEach is how texts write the name of one of several objects: fairlead-rollout-NAME.
func ofEach(name string) string { return name[:strings.LastIndex(name, "-")+1] + "NAME" }

// made says whether a page's blocks create an object of this name.
func made(blocks, name string) bool {
	return regexp.MustCompile(`(?:\bcreate [^\n]*|\bname: *|--name[ =])` + name + `\b`).MatchString(blocks)
}

// claimed says whether a path is a value of a chart.
func (s schemas) claimed(path string) bool {
	return slices.ContainsFunc(s, func(schema map[string]any) bool {
		return schema["$schema"] != nil && leads(schema, strings.Split(index.ReplaceAllString(path, ""), "."))
	})
}
