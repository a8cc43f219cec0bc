package lint

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/core/proxyurl"
	"github.com/fairlead-io/fairlead/internal/core/units"
	"github.com/fairlead-io/fairlead/noproxy"
	"github.com/fairlead-io/fairlead/noproxy/explain"
)

// Service returns the inputs for the variables that systemd gives to a service, and for those that the service gives to
// its containerd. The findings about the source of the variables are among them.
func Service(s units.Service) []Reader {
	if s.Masked != "" {
		why := explain.Shown(s.Masked) + " is empty or links to /dev/null: the service is masked, and does not start"
		return []Reader{{Name: s.Name, Input: Input{Hidden: true, Refusals: []Finding{{Code: UnitFile, Severity: Info, Why: why}}}}}
	}
	got := map[string]string{}
	var said []Finding
	for _, v := range s.Variables {
		wins, gets := v.Wins()
		if gets {
			got[v.Name] = withoutSpecifiers(wins)
		}
		said = join(said, ofVariable(v, wins, gets))
	}
	for _, h := range s.Hidden {
		said = append(said, ofHidden(h))
	}
	for _, p := range s.Problems {
		said = append(said, ofProblem(p))
	}
	for i := range said { // paths may have anything in them
		said[i].Why, said[i].Mend = explain.Shown(said[i].Why), explain.Shown(said[i].Mend)
	}
	readers := readersOf(got, s.Name, startsContainerd.MatchString(s.Name))
	own := &readers[0]
	own.Refusals = append(said, own.Refusals...)
	if own.Node = s.IsDaemon(); own.Node {
		own.Audience = noproxy.AudienceGo
	}
	for i := range readers { // other services need not ask anybody in the cluster
		readers[i].Empty = readers[i].Empty && own.Node && !slices.ContainsFunc(s.Variables, listsUnknown)
	}
	return readers
}

// startsContainerd matches services that pass some variables on to their containerd.
var startsContainerd = regexp.MustCompile("^(k0s|k3s|rke2)")

// withoutSpecifiers returns what can be looked at of a value: a list without the entries that only the machine knows, and a URL with
// a word in their place.
func withoutSpecifiers(s units.Setting) string {
	value := s.Value
	if len(s.Specifiers) == 0 {
		return value
	}
	if s.IsList() {
		if strings.Contains(value, "@") {
			return "" // commas may have cut user information
		}
		elements := slices.DeleteFunc(strings.Split(value, ","), func(e string) bool {
			return slices.ContainsFunc(s.Specifiers, func(specifier string) bool { return strings.Contains(e, specifier) })
		})
		return strings.Join(elements, ",")
	}
	for _, specifier := range s.Specifiers {
		value = strings.ReplaceAll(value, specifier, "specifier")
	}
	return value
}

// listsUnknown reports whether a list has what only the machine knows.
func listsUnknown(v units.Variable) bool {
	wins, gets := v.Wins()
	return gets && wins.IsList() && len(wins.Specifiers) > 0
}

// mostLosers are the settings without effect that are named: no machine that is meant has more.
const mostLosers = 10

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
	won := Finding{Code: Wins, Severity: Info, Entries: entries, Why: fmt.Sprintf("from %s: %s", origin(wins), shownValue(wins))}
	findings := []Finding{won}
	emptied, losers := false, 0
	for _, s := range slices.Backward(v.Settings[:len(v.Settings)-1]) {
		if s.Value == wins.Value {
			continue
		}
		if losers++; losers > mostLosers {
			continue
		}
		findings[0].Why += fmt.Sprintf("; over %s: %s", origin(s), shownValue(s))
		switch {
		case wins.Value == "" && !emptied:
			findings, emptied = append(findings, emptying(entries, s, wins)), true
		case wins.Value != "" && s.Source == units.Unit && wins.Source == units.File && s.Order >= wins.Order:
			findings = append(findings, overruled(entries, s, wins))
		}
	}
	if losers > mostLosers {
		findings[0].Why += fmt.Sprintf("; and over %d more", losers-mostLosers)
	}
	if len(wins.Specifiers) > 0 {
		findings = append(findings, unknownHere(entries, wins))
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

const reload = "; then systemctl daemon-reload, and restart the service"

// overruled is about what the order of the files hides.
func overruled(entries []Entry, s, wins units.Setting) Finding {
	return Finding{
		Code: Overruled, Severity: Warning, Entries: entries,
		Why: fmt.Sprintf("%s has no effect: %s wins, since a file of EnvironmentFile= wins over every Environment=, whatever the order of drop-ins",
			origin(s), origin(wins)),
		Mend: fmt.Sprintf("remove %s, which names the file, or write the value into the file", shownPlace(wins.By)) + reload,
	}
}

// emptying is about an empty value, which wins as any other.
func emptying(entries []Entry, s, wins units.Setting) Finding {
	return Finding{
		Code: Overruled, Severity: Warning, Entries: entries,
		Why:  fmt.Sprintf("%s sets it empty, over %s: an empty value wins as any other does", shownPlace(wins.Place), origin(s)),
		Mend: fmt.Sprintf("remove it from %s, if the service is to have it", shownPlace(wins.Place)) + reload,
	}
}

// unknownHere is about specifiers. What may be a part of a password is not shown.
func unknownHere(entries []Entry, s units.Setting) Finding {
	why := fmt.Sprintf("%s: the machine alone knows %s, so entries with it are not looked at", shownPlace(s.Place), strings.Join(s.Specifiers, ", "))
	if !s.IsList() || strings.Contains(s.Value, "@") {
		why = shownPlace(s.Place) + ": the machine alone knows a specifier in it"
	}
	return Finding{Code: UnitFile, Severity: Info, Entries: entries, Why: why}
}

// shownValue returns a value without user information.
func shownValue(s units.Setting) string {
	if strings.TrimSpace(s.Value) == "" {
		return "empty"
	}
	if !s.IsList() {
		if u, err := proxyurl.Parse(s.Value); err == nil && len(s.Specifiers) == 0 {
			return u.String()
		}
		return "a value that is not shown"
	}
	elements := noproxy.Cut(s.Value, noproxy.Source{})
	if noproxy.WholeList(elements) != nil {
		return "a list that is not shown"
	}
	var entries []Entry
	for _, element := range elements {
		entries = append(entries, Entry{Value: shown(element).Value})
	}
	return Listed(entries)
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

// ofGo keeps the findings about Go's clients, and those about no client.
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
