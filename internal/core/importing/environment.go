package importing

import (
	"regexp"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/core/resolve"
)

// environmentFile is read as systemd reads EnvironmentFile= (man systemd.exec; systemd src/basic/env-file.c).
var environmentFile = &Format{
	Name: "environment-file", Title: "a file of environment variables",
	detect: func(f *file) bool { return looksLikeVariables(f) && !isRKE2(f) },
	read:   readVariables,
	Adds:   addsNothing,
}

const containerdPrefix = "CONTAINERD_"

// addsNothing is for what a person wrote.
func addsNothing(Settings, resolve.Cluster) (before, after []Entry) { return nil, nil }

var (
	variableLine  = regexp.MustCompile(`^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)=`)
	exportLine    = regexp.MustCompile(`(?m)^\s*export\s`)
	proxyVariable = regexp.MustCompile(`(?i)^(CONTAINERD_)?(HTTP|HTTPS|NO|ALL|FTP)_PROXY$`)
)

// looksLikeVariables reports whether assignments are all there is, of a proxy's variable among others.
func looksLikeVariables(f *file) bool {
	found := false
	for _, a := range assignments(f.data) {
		if a.name == "" {
			return false
		}
		found = found || proxyVariable.MatchString(a.name)
	}
	return found
}

func readVariables(f *file) ([]Settings, error) {
	s := Settings{Place: f.at(0, "")}
	var words []word
	for _, a := range assignments(f.data) {
		if a.name == "" {
			s.say(f.at(a.line, ""), NotRecognised, "no assignment")
			continue
		}
		words = append(words, word{a.name, a.value, f.at(a.line, a.name), a.expands})
	}
	words = s.last(words)
	if exportLine.Match(f.data) {
		if err := refuseVariables(words); err != nil {
			return nil, err
		}
	}
	return []Settings{s}, s.assignAll(words)
}

// refuseVariables is for a file that a shell reads.
func refuseVariables(words []word) error {
	for _, w := range words {
		if w.expands && proxyVariable.MatchString(w.name) {
			return w.at.errorf(isVariable)
		}
	}
	return nil
}

// word is a variable with its value.
type word struct {
	name, value string
	at          Place
	expands     bool // in a shell
}

// last leaves the last one of each name, as systemd does.
func (s *Settings) last(words []word) []word {
	var left []word
	for i, w := range words {
		if slices.ContainsFunc(words[i+1:], func(later word) bool { return later.name == w.name }) {
			s.say(w.at, Understood, "set again below, which wins: left out")
			continue
		}
		left = append(left, w)
	}
	return left
}

func (s *Settings) assignAll(words []word) error {
	for _, w := range words {
		from := len(s.Lines)
		if err := s.assign(w.name, w.value, w.at); err != nil {
			return err
		}
		if isForContainerd(w, words) {
			s.note(from, w.at, "for containerd alone there; Fairlead sets it for machines and pods")
		}
	}
	return nil
}

// isForContainerd reports whether no plain variable stands beside one that has a value for containerd.
func isForContainerd(w word, words []word) bool {
	plain, is := strings.CutPrefix(strings.ToUpper(w.name), containerdPrefix)
	return is && w.value != "" && supported(plain) && !slices.ContainsFunc(words, func(o word) bool { return strings.EqualFold(o.name, plain) })
}

// supported tells the variables that Fairlead sets from others of a proxy.
func supported(plain string) bool {
	return slices.ContainsFunc(upperCase, func(name string) bool { return strings.EqualFold(name, plain) })
}

// note says more in the line that a setting got since, or in one of its own.
func (s *Settings) note(from int, at Place, text string) {
	if from == len(s.Lines) {
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
	if !proxyVariable.MatchString(name) {
		s.say(at, NotRecognised, "no variable of a proxy")
		return nil
	}
	plain := name
	if rest, is := strings.CutPrefix(strings.ToUpper(name), containerdPrefix); is {
		plain = rest
	}
	if !supported(plain) {
		s.say(at, NotSupported, "Fairlead sets HTTP_PROXY and HTTPS_PROXY alone")
		return nil
	}
	if !slices.Contains(s.Variables, plain) {
		s.Variables = append(s.Variables, plain)
	}
	switch strings.ToUpper(plain) {
	case "HTTP_PROXY":
		return s.setURL(&s.HTTP, value, at)
	case "HTTPS_PROXY":
		return s.setURL(&s.HTTPS, value, at)
	}
	entries := cut(value, at)
	if len(entries) == 0 {
		s.say(at, Understood, "empty: nothing goes past the proxy there")
		return nil
	}
	s.list(entries, at)
	return nil
}

// list takes a list. Of several names, all entries are imported, and the first is what is compared.
func (s *Settings) list(entries []Entry, at Place) {
	if s.NoProxy == nil {
		s.NoProxy = entries
		return
	}
	first := textsOf(s.NoProxy)
	if slices.Equal(first, textsOf(entries)) {
		s.say(at, Understood, "the same as the first list")
		return
	}
	if s.Effective == nil {
		s.Effective = s.NoProxy
	}
	name, _, _ := strings.Cut(s.NoProxy[0].Place.Field, "[")
	s.say(at, Understood, "merged with "+name+", since Fairlead writes one list")
	for _, e := range entries {
		if !slices.Contains(first, e.Text) {
			s.NoProxy = append(s.NoProxy, e)
		}
	}
}

func textsOf(entries []Entry) []string {
	all := make([]string, len(entries))
	for i, e := range entries {
		all[i] = e.Text
	}
	return all
}

// assignment is a line, or several joined; without a name, it is none.
type assignment struct {
	line        int
	name, value string
	expands     bool // in a shell
}

func assignments(data []byte) []assignment {
	var all []assignment
	rest, line := strings.ReplaceAll(string(data), "\r\n", "\n"), 1
	for rest != "" {
		current, behind, _ := strings.Cut(rest, "\n")
		trimmed := strings.TrimSpace(current)
		if trimmed == "" || trimmed[0] == '#' || trimmed[0] == ';' {
			rest, line = behind, line+1
			continue
		}
		name := variableLine.FindStringSubmatch(current)
		if name == nil {
			all = append(all, assignment{line: line})
			rest, line = behind, line+1
			continue
		}
		value, length := unquoted(rest[len(name[0]):])
		end := len(name[0]) + length
		inShell := slices.ContainsFunc(shellWords(rest[len(name[0]):end]), func(w shellWord) bool { return w.expands })
		all = append(all, assignment{line, name[1], value, inShell})
		line += strings.Count(rest[:end], "\n")
		rest = rest[end:]
	}
	return all
}

// unquoted reads a value up to the end of its line, and says how long it was: in double quotes \ stands before " \ ` and $
// only, in single quotes before nothing, elsewhere before anything. A line may end within quotes.
func unquoted(text string) (value string, length int) {
	var out strings.Builder
	kept := 0 // trailing blanks outside of quotes are dropped
	quote := byte(0)
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case quote == 0 && c == '\n':
			return out.String()[:kept], i + 1
		case c == '\\' && quote != '\'' && i+1 < len(text):
			next := text[i+1]
			if quote == '"' && !strings.ContainsRune("\"\\`$\n", rune(next)) {
				out.WriteByte(c)
			}
			if next != '\n' {
				out.WriteByte(next)
			}
			i++
			kept = out.Len()
		case quote == 0 && (c == '"' || c == '\'') && strings.TrimSpace(out.String()) == "":
			quote = c
		case quote != 0 && c == quote:
			quote, kept = 0, out.Len()
		case quote == 0 && out.Len() == 0 && (c == ' ' || c == '\t'):
		default:
			out.WriteByte(c)
			if quote != 0 || c != ' ' && c != '\t' {
				kept = out.Len()
			}
		}
	}
	return out.String()[:kept], len(text)
}
