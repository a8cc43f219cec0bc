package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/core/units"
	"github.com/fairlead-io/fairlead/operator/noproxy"
	"github.com/fairlead-io/fairlead/operator/noproxy/explain"
)

// Process is the input for the variables of a process. Those in capitals are taken first, as Go does.
func Process(variables map[string]string, object string) Input {
	chosen := func(name string) (string, string) {
		if lower := strings.ToLower(name); variables[name] == "" && variables[lower] != "" {
			return lower, variables[lower]
		}
		return name, variables[name]
	}
	name, list := chosen("NO_PROXY")
	in := Read(list, noproxy.Source{Object: object, Field: name})
	in.HTTP, in.HTTPS = in.ReadProxy(chosen("HTTP_PROXY")), in.ReadProxy(chosen("HTTPS_PROXY"))
	_, http := chosen("HTTP_PROXY")
	_, https := chosen("HTTPS_PROXY")
	in.Off = http == "" && https == ""
	in.Refusals = append(in.Refusals, spellingsOf(variables)...)
	return in
}

// spellingsOf says that the two names of a variable differ.
func spellingsOf(variables map[string]string) []Finding {
	var findings []Finding
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"} {
		lower := strings.ToLower(name)
		upperValue, isUpper := variables[name]
		lowerValue, isLower := variables[lower]
		if isUpper && isLower && upperValue != lowerValue {
			findings = append(findings, Finding{
				Code: Spellings, Severity: Warning, Entries: []Entry{{Value: name}, {Value: lower}}, Mend: "set both to one value",
				Why: "they differ: Go takes the one in capitals, curl and others the other one",
			})
		}
	}
	return findings
}

// Service is the input for what systemd gives to a service, with what is said of where it comes from.
func Service(s units.Service) Input {
	got := map[string]string{}
	var said []Finding
	for _, v := range s.Variables {
		wins, gets := v.Wins()
		if gets {
			got[v.Name] = wins.Value
		}
		said = join(said, ofVariable(v, wins, gets))
	}
	in := Process(got, s.Name)
	in.Go = s.IsDaemon()
	for _, h := range s.Hidden {
		said = append(said, ofHidden(h))
	}
	for _, p := range s.Problems {
		said = append(said, ofProblem(p))
	}
	for i := range said { // paths may have anything in them
		said[i].Why, said[i].Mend = explain.Shown(said[i].Why), explain.Shown(said[i].Mend)
	}
	in.Refusals = append(said, in.Refusals...)
	return in
}

// ofVariable says which setting wins, and which have no effect.
func ofVariable(v units.Variable, wins units.Setting, gets bool) []Finding {
	entries := []Entry{{Value: v.Name}}
	if !gets {
		last := v.Settings[len(v.Settings)-1]
		return []Finding{{
			Code: Unset, Severity: Warning, Entries: entries, Mend: "remove it there, if the service is to have it",
			Why: fmt.Sprintf("UnsetEnvironment= in %s takes it away, which %s sets", shownPlace(*v.Unset), origin(last)),
		}}
	}
	findings := []Finding{{Code: Wins, Severity: Info, Entries: entries, Why: "from " + origin(wins)}}
	for _, s := range v.Settings[:len(v.Settings)-1] {
		if s.Value != wins.Value {
			findings = append(findings, overruled(entries, s, wins))
		}
	}
	return findings
}

// ofHidden is about a file that systemd does not read.
func ofHidden(h units.Hidden) Finding {
	f := Finding{Code: Hidden, Severity: Info, Why: fmt.Sprintf("%s is not read: %s hides it, since it has the same name", h.Path, h.By)}
	for _, name := range h.Variables {
		f.Entries = append(f.Entries, Entry{Value: name})
	}
	return f
}

// overruled is a warning where the order of the files says the opposite.
func overruled(entries []Entry, s, wins units.Setting) Finding {
	f := Finding{Code: Overruled, Severity: Info, Entries: entries, Why: fmt.Sprintf("%s has no effect: %s wins", origin(s), origin(wins))}
	if s.Source == units.Unit && wins.Source == units.File && s.Order >= wins.Order {
		f.Severity = Warning
		f.Why += ", since a file of EnvironmentFile= wins over every Environment=, whatever the order of drop-ins"
		f.Mend = fmt.Sprintf("remove %s, which names the file, or write the value into the file; then systemctl daemon-reload, and restart the service", shownPlace(wins.By))
	}
	return f
}

// origin names a setting by its file: variables that stand side by side are one finding.
func origin(s units.Setting) string {
	switch s.Source {
	case units.File:
		return fmt.Sprintf("EnvironmentFile=%s (named in %s)", s.Place.Path, s.By.Path)
	case units.Passed:
		return fmt.Sprintf("PassEnvironment= in %s (from %s)", s.By.Path, s.Place.Path)
	}
	return s.Source.Key() + " in " + s.Place.Path
}

func shownPlace(p units.Place) string {
	if p.Line == 0 {
		return p.Path
	}
	return fmt.Sprintf("%s:%d", p.Path, p.Line)
}

// join makes one finding of those that say the same of several variables.
func join(findings, more []Finding) []Finding {
	for _, f := range more {
		at := slices.IndexFunc(findings, func(g Finding) bool {
			return g.Code == f.Code && g.Severity == f.Severity && g.Why == f.Why && g.Mend == f.Mend
		})
		if at < 0 {
			findings = append(findings, f)
			continue
		}
		findings[at].Entries = append(slices.Clip(findings[at].Entries), f.Entries...)
	}
	return findings
}

func ofProblem(p units.Problem) Finding {
	f := Finding{Code: UnitFile, Severity: Info, Why: shownPlace(p.Place) + ": " + p.Reason}
	switch p.Kind {
	case units.Dropped:
		f.Code, f.Severity, f.Mend = Dropped, Error, "correct the line"
	case units.Fails:
		f.Severity, f.Mend = Error, "write the file, or a - before its path"
	case units.Unreadable:
		f.Severity = Warning
	case units.Unknown:
	}
	return f
}

// ofGo leaves what is said of Go, or of no client.
func ofGo(findings []Finding) []Finding {
	var left []Finding
	for _, f := range findings {
		others := slices.DeleteFunc(slices.Clone(f.Clients), func(name string) bool { return name == "go" || strings.HasPrefix(name, "go ") })
		if len(f.Clients) > 0 && len(others) == len(f.Clients) {
			continue
		}
		f.Clients = slices.DeleteFunc(slices.Clone(f.Clients), func(name string) bool { return slices.Contains(others, name) })
		left = append(left, f)
	}
	return left
}
