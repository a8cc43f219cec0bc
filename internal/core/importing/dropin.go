package importing

import (
	"regexp"
	"strings"

	"github.com/fairlead-io/fairlead/internal/core/unitfile"
)

// dropIn is a part of a unit of systemd, as systemd reads it (man systemd.syntax, systemd.exec).
var dropIn = &Format{
	Name: "drop-in", Title: "a drop-in of systemd",
	detect: func(f *file) bool { return f.environmentLine(true) > 0 },
	read:   readDropIn,
}

func readDropIn(f *file) (Settings, error) {
	s := Settings{Place: f.at(0, "")}
	var words []word
	for _, l := range unitfile.Lines(f.data) {
		at := f.at(l.Number, l.Key)
		switch {
		case l.Key == "Environment" && l.Section != unitfile.Service:
			s.say(f.at(l.Number, ""), NotSupported, outsideOfService)
		case l.Section != unitfile.Service:
		case l.Key == "EnvironmentFile":
			s.say(at, NotSupported, "import this file, too: it comes after Environment=")
		case l.Key == "PassEnvironment" || l.Key == "UnsetEnvironment":
			s.say(at, NotSupported, "Fairlead writes the variables that a unit gets")
		case l.Key != "Environment": // its key may be a piece of a password, behind a quote that is not closed
			s.say(f.at(l.Number, ""), NotRecognised, "not about the environment")
		case strings.TrimSpace(l.Value) == "":
			words = nil
			s.say(at, Understood, "empty: forgets what stands before it")
		default:
			words = append(words, s.words(f, l)...)
		}
	}
	err := s.assignAll(s.dropOverridden(words))
	return s, err
}

// words returns the assignments of a line.
func (s *Settings) words(f *file, l unitfile.Line) []word {
	at := f.at(l.Number, l.Key)
	texts, err := unitfile.Words(l.Value)
	if err != nil {
		s.say(at, NotSupported, "systemd drops this line: "+err.Error())
		return nil
	}
	var words []word
	for i, text := range texts {
		name, value, ok := strings.Cut(text, "=")
		if !ok {
			s.say(at, NotSupported, "systemd drops a word without =: is a quote missing?")
			continue
		}
		where := at
		if unitfile.IsProxyVariable(name) || i == 0 && identifier.MatchString(name) { // others may be a piece of a password
			where.Field = name
		}
		if value, err = unitfile.Specified(value); err != nil {
			s.say(where, NotSupported, err.Error())
			continue
		}
		words = append(words, word{name: name, value: value, at: where})
	}
	return words
}

const outsideOfService = "Environment= stands outside of [Service]: systemd ignores it"

var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// environmentLine returns the first line with variables that systemd reads, or ignores since it is not of [Service]; 0: none.
func (f *file) environmentLine(ofService bool) int {
	for _, l := range unitfile.Lines(f.data) {
		if l.Key == "Environment" && (l.Section == unitfile.Service) == ofService {
			return l.Number
		}
	}
	return 0
}
