package importing

import (
	"regexp"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/core/proxyenv"
	"github.com/fairlead-io/fairlead/internal/core/unitfile"
)

// environmentFile is read as systemd reads EnvironmentFile= (man systemd.exec; systemd src/basic/env-file.c).
var environmentFile = &Format{
	Name: "environment-file", Title: "a file of environment variables",
	detect: func(f *file) bool { return looksLikeVariables(f) && !isRKE2(f) },
	read:   readVariables,
}

const containerdPrefix = "CONTAINERD_"

var exportLine = regexp.MustCompile(`(?m)^\s*export\s`)

// looksLikeVariables reports whether assignments are all there is, of a proxy's variable among others.
func looksLikeVariables(f *file) bool {
	found := false
	for _, a := range unitfile.Assignments(f.data) {
		if a.Name == "" {
			return false
		}
		found = found || unitfile.IsProxyVariable(a.Name)
	}
	return found
}

// readVariables takes the settings from a file of assignments. systemd takes a value as it stands. Where a line begins with
// export, a shell reads the file: a proxy's value with a variable of the shell in it is refused, since only the shell knows it.
func readVariables(f *file) (Settings, error) {
	s := Settings{Place: f.at(0, "")}
	var words []word
	for _, a := range unitfile.Assignments(f.data) {
		if a.Name == "" {
			s.say(f.at(a.Line, ""), NotRecognised, "no assignment")
			continue
		}
		expands := slices.ContainsFunc(shellWords(a.Raw), func(w shellWord) bool { return w.expands })
		words = append(words, word{a.Name, a.Value, f.at(a.Line, a.Name), expands})
	}
	words = s.dropOverridden(words)
	if exportLine.Match(f.data) {
		for _, w := range words {
			if w.expands && unitfile.IsProxyVariable(w.name) {
				return s, w.at.errorf(shellVariable)
			}
		}
	}
	err := s.assignAll(words)
	return s, err
}

// word is a variable with its value.
type word struct {
	name, value string
	at          Place
	expands     bool // a shell would put something else in place of a part of the value
}

// dropOverridden returns the last word of each name, since systemd takes the last. It notes which words it drops.
func (s *Settings) dropOverridden(words []word) []word {
	var kept []word
	last := map[string]int{}
	for i, w := range words {
		last[w.name] = i
	}
	for i, w := range words {
		if last[w.name] != i {
			s.say(w.at, Understood, "set again below, which wins: left out")
			continue
		}
		kept = append(kept, w)
	}
	return kept
}

func (s *Settings) assignAll(words []word) error {
	for _, w := range words {
		before := len(s.Lines)
		if err := s.assign(w.name, w.value, w.at); err != nil {
			return err
		}
		if isForContainerd(w, words) {
			s.addNote(before, w.at, "for containerd alone there; Fairlead sets it for machines and pods")
		}
	}
	return nil
}

// isForContainerd reports whether no plain variable stands beside one that has a value for containerd.
func isForContainerd(w word, words []word) bool {
	plain, ok := strings.CutPrefix(strings.ToUpper(w.name), containerdPrefix)
	return ok && w.value != "" && supported(plain) && !slices.ContainsFunc(words, func(o word) bool { return strings.EqualFold(o.name, plain) })
}

// supported tells the variables that Fairlead sets from others of a proxy.
func supported(plain string) bool {
	return slices.ContainsFunc(upperCase, func(name string) bool { return strings.EqualFold(name, plain) })
}

// addNote appends text to the last line of the report. If there are still as many lines as before the setting was read, the
// setting has no line: then text becomes a line of its own.
func (s *Settings) addNote(before int, at Place, text string) {
	if before == len(s.Lines) {
		s.say(at, Understood, text)
		return
	}
	if l := &s.Lines[len(s.Lines)-1]; l.Text == "" {
		l.Text = text
	} else {
		l.Text += "; " + text
	}
}

// assign takes one variable.
func (s *Settings) assign(name, value string, at Place) error {
	if !unitfile.IsProxyVariable(name) {
		s.say(at, NotRecognised, "no variable of a proxy")
		return nil
	}
	plain, ofContainerd := strings.CutPrefix(strings.ToUpper(name), containerdPrefix)
	if !ofContainerd {
		plain = name
	}
	if !supported(plain) {
		s.say(at, NotSupported, "Fairlead sets HTTP_PROXY and HTTPS_PROXY alone")
		return nil
	}
	if !slices.Contains(s.Variables, plain) {
		s.Variables = append(s.Variables, plain)
	}
	if value == "" && !ofContainerd {
		s.Blank = append(s.Blank, plain)
	}
	switch strings.ToUpper(plain) {
	case proxyenv.HTTP:
		return s.setURL(&s.HTTP, value, at)
	case proxyenv.HTTPS:
		return s.setURL(&s.HTTPS, value, at)
	}
	entries := cut(value, at)
	if s.Lists == nil {
		s.Lists = map[string][]Entry{}
	}
	if _, ok := s.Lists[plain]; !ok || !ofContainerd {
		s.Lists[plain] = entries
	}
	if len(entries) == 0 {
		s.say(at, Understood, "empty: nothing goes past the proxy there")
		return nil
	}
	s.list(entries, at)
	return nil
}

// list takes a list. Of several names, all entries are imported.
func (s *Settings) list(entries []Entry, at Place) {
	if s.NoProxy == nil {
		s.NoProxy = entries
		return
	}
	if slices.Equal(textsOf(s.NoProxy), textsOf(entries)) {
		s.say(at, Understood, "the same as the first list")
		return
	}
	name, _, _ := strings.Cut(s.NoProxy[0].Place.Field, "[")
	s.say(at, Understood, "merged with "+name+", since Fairlead writes one list")
	s.NoProxy = union(s.NoProxy, entries)
}

func textsOf(entries []Entry) []string {
	all := make([]string, len(entries))
	for i, e := range entries {
		all[i] = e.Text
	}
	return all
}
