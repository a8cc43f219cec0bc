package tunnel

import (
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/core/lint"
)

// Flags of chisel client that have no value (jpillora/chisel main.go).
var chiselSwitches = []string{"tls-skip-verify", "pid", "v", "help"}

// client returns the arguments behind "client": flags, of which Go's parser sees none behind the first that is none.
func (l line) client() (flags line, rest []string) {
	words := l.words[slices.Index(l.words, "client")+1:]
	for i := 0; i < len(words); i++ {
		if !strings.HasPrefix(words[i], "-") {
			return line{words: words[:i]}, words[i:]
		}
		name := strings.TrimLeft(words[i], "-")
		if !strings.Contains(name, "=") && !slices.Contains(chiselSwitches, name) {
			i++
		}
	}
	return line{words: words}, nil
}

func (j *judge) hubOfChisel() (hub, string) {
	flags, rest := j.line.client()
	if value, found := flags.flag("--proxy", "-proxy"); found {
		left := j.env.expand(value) // a variable that is not known
		left.value = value
		j.configured = &setting{"--proxy", "argument --proxy", left}
	} else if (line{words: rest}).has("--proxy") {
		j.say(OtherVariable, lint.Error, "--proxy stands behind the server, where chisel does not read it", "put it right behind client")
	}
	if len(rest) == 0 {
		return hub{}, "its arguments, which name no server"
	}
	return hubOfURL(rest[0], "http"), ""
}

func (j *judge) beatOfChisel() int {
	flags, _ := j.line.client()
	if duration, ok := parseDuration(flags.flagOr("", "--keepalive", "-keepalive")); ok {
		return duration
	}
	return 25
}
