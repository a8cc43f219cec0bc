package unitfile

import (
	"regexp"
	"strings"
)

// Assignment is a line of a file of environment variables, or several joined; without a name, it is none.
type Assignment struct {
	Line        int
	Name, Value string
	Raw         string // the value as it is written; without a name, the whole line
	Exported    bool   // for a shell: systemd drops it
}

// IsProxyVariable reports whether a variable has to do with a proxy.
func IsProxyVariable(name string) bool { return proxyVariable.MatchString(name) }

var proxyVariable = regexp.MustCompile(`(?i)^(CONTAINERD_)?(HTTP|HTTPS|NO|ALL|FTP)_PROXY$`)

var variableName = regexp.MustCompile(`^(export[ \t]+)?([A-Za-z_][A-Za-z0-9_]*)$`)

// Assignments returns the lines of a file of environment variables, as systemd reads EnvironmentFile= (src/basic/env-file.c).
func Assignments(data []byte) []Assignment {
	var all []Assignment
	rest, line := string(data), 1
	pass := func(length int) {
		line += strings.Count(rest[:length], "\n")
		rest = rest[length:]
	}
	for {
		pass(len(rest) - len(strings.TrimLeft(rest, blanks)))
		if rest == "" {
			return all
		}
		current := rest
		if end := strings.IndexAny(rest, "\n\r"); end >= 0 {
			current = rest[:end]
		}
		key, _, ok := strings.Cut(current, "=")
		switch {
		case rest[0] == '#' || rest[0] == ';':
			pass(len(current))
		case !ok:
			all = append(all, Assignment{Line: line, Raw: current})
			pass(len(current))
		default:
			behind := rest[len(key)+1:]
			value, length := unquoted(behind)
			all = append(all, assignment(line, key, value, behind[:length]))
			pass(len(key) + 1 + length)
		}
	}
}

func assignment(line int, key, value, raw string) Assignment {
	name := variableName.FindStringSubmatch(strings.TrimRight(key, blanks))
	if name == nil {
		return Assignment{Line: line, Raw: key + "=" + raw}
	}
	return Assignment{line, name[2], value, raw, name[1] != ""}
}

// unquoted reads a value up to the end of its line, and says how long it was: in double quotes \ stands before " \ ` and $
// only, in single quotes before nothing, elsewhere before anything. A line may end within quotes. Parts in quotes join;
// behind a part without, a quote is a character.
func unquoted(text string) (value string, length int) {
	var out strings.Builder
	kept := 0 // trailing blanks outside of quotes are dropped
	quote, plain := byte(0), false
	for i := 0; i < len(text); i++ {
		c := text[i]
		isBlank := strings.IndexByte(blanks, c) >= 0
		switch {
		case c == '\\' && quote != '\'':
			if i++; i < len(text) {
				out.WriteString(escaped(text[i], quote))
			}
			plain, kept = plain || quote == 0, out.Len()
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			out.WriteByte(c)
			kept = out.Len()
		case c == '\n' || c == '\r':
			return out.String()[:kept], i + 1
		case !plain && (c == '"' || c == '\''):
			quote = c
		case plain || !isBlank:
			out.WriteByte(c)
			plain = true
			if !isBlank {
				kept = out.Len()
			}
		}
	}
	return out.String()[:kept], len(text)
}

// escaped returns what a character stands for behind a backslash.
func escaped(c, quote byte) string {
	switch {
	case c == '\n' || c == '\r' && quote == 0:
		return ""
	case quote == 0 || strings.IndexByte("\"\\`$", c) >= 0:
		return string([]byte{c})
	}
	return string([]byte{'\\', c})
}
