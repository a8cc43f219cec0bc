package importing

import (
	"regexp"
	"slices"
	"strings"
)

// arc is the command line az connectedk8s connect (or update), of Azure/azure-cli-extensions src/connectedk8s. Its agents get
// the list as it is.
var arc = &Format{
	Name: "arc", Title: "az connectedk8s",
	detect: func(f *file) bool {
		return strings.Contains(string(f.data), "connectedk8s") && strings.Contains(string(f.data), "--proxy-http")
	},
	read: func(f *file) (Settings, error) {
		s := Settings{Place: f.at(0, ""), Variables: bothCases}
		words := shellWords(string(f.data))
		for i := 0; i < len(words); i++ {
			flag, value, joined := strings.Cut(words[i].text, "=")
			if !proxyFlag.MatchString(flag) {
				continue
			}
			if !flagName.MatchString(flag) { // it may have a URL in it
				flag = "--proxy-"
			}
			at := f.at(words[i].line, flag)
			switch {
			case joined:
			case i+1 < len(words) && words[i+1].isArgument():
				i++
				value = words[i].text
			case slices.Contains(arcFlags, flag):
				return s, at.errorf("has no value")
			}
			if words[i].expands && flag != "--proxy-cert" {
				return s, at.errorf(shellVariable)
			}
			if err := s.flag(flag, value, at); err != nil {
				return s, err
			}
			for ; i+1 < len(words) && words[i+1].isArgument(); i++ { // not shown: it may be a piece of a password
				s.say(at, NotRecognised, "a word behind its value, which belongs to no option: are quotes missing?")
			}
		}
		return s, nil
	},
}

var (
	// proxyFlag also finds what somebody took for one: with another dash, or in another case.
	proxyFlag = regexp.MustCompile(`(?i)^[\p{Pd}−]+proxy.`)
	flagName  = regexp.MustCompile(`(?i)^[\p{Pd}−]+proxy(-[a-z]+)+$`)
	// notArgument begins an option, what a shell reads itself, or the end of a line of PowerShell or cmd.
	notArgument = regexp.MustCompile("^([-|&()\r]|[`^]$|[0-9]*[<>])")
	arcFlags    = []string{"--proxy-http", "--proxy-https", "--proxy-skip-range", "--proxy-cert"}
)

func (s *Settings) flag(flag, value string, at Place) error {
	switch flag {
	case "--proxy-http":
		return s.setURL(&s.HTTP, value, at)
	case "--proxy-https":
		return s.setURL(&s.HTTPS, value, at)
	case "--proxy-skip-range":
		s.NoProxy = append(s.NoProxy, cut(value, at)...)
	case "--proxy-cert":
		s.say(at, NotSupported, "put this file into a ConfigMap of the operator's namespace, and name it in spec.trustedCARef")
	default:
		s.say(at, NotRecognised, "")
	}
	return nil
}

// isVariable refuses what only a shell knows. The value is not shown: it has a part of a password, often.
const shellVariable = "is a variable of the shell: write its value"

type shellWord struct {
	line    int
	text    string
	expands bool // a shell writes something else for a part of it
	first   bool // of a command
}

func (w shellWord) isArgument() bool {
	return !w.first && !notArgument.MatchString(w.text) && !proxyFlag.MatchString(w.text)
}

// expansion begins what a shell writes something else for, outside of single quotes.
var expansion = regexp.MustCompile("^(`|[$][A-Za-z0-9_{(@*#?$!-])")

// shellWords takes a script apart as a shell does, as far as quotes, backslashes and comments go.
func shellWords(script string) []shellWord {
	var words []shellWord
	var current strings.Builder
	line, start, quote := 1, 0, byte(0) // start: the line where a word began, 0: there is none
	expanding, first := false, true
	end := func() {
		if start > 0 {
			words = append(words, shellWord{start, current.String(), expanding, first})
			current.Reset()
			first = false
		}
		start, expanding = 0, false
	}
	for i := 0; i < len(script); i++ {
		c := script[i]
		switch {
		case quote == 0 && c == '#' && start == 0:
			for i+1 < len(script) && script[i+1] != '\n' {
				i++
			}
		case c == '\\' && quote != '\'' && i+1 < len(script):
			i++
			if script[i] == '\n' {
				break
			}
			start = max(start, line)
			if quote == '"' && strings.IndexByte("\"\\`$", script[i]) < 0 {
				current.WriteByte(c)
			}
			current.WriteByte(script[i])
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			quote, start = c, max(start, line)
		case quote == 0 && strings.IndexByte(" \t\r\n;", c) >= 0:
			end()
			first = first || c == '\n' || c == ';'
		default:
			start, expanding = max(start, line), expanding || quote != '\'' && expansion.MatchString(script[i:min(i+2, len(script))])
			current.WriteByte(c)
		}
		if script[i] == '\n' {
			line++
		}
	}
	end()
	return words
}
