package unitfile

import (
	"regexp"
	"strings"
)

// Assignment is a line of a file of environment variables, or several joined; without a name, it is none.
type Assignment struct {
	Line        int
	Name, Value string
	Raw         string // the value as it is written
	Exported    bool   // for a shell: systemd drops it
}

var variableLine = regexp.MustCompile(`^\s*(export\s+)?([A-Za-z_][A-Za-z0-9_]*)=`)

// Assignments are the lines of a file of environment variables, as systemd reads EnvironmentFile= (src/basic/env-file.c).
func Assignments(data []byte) []Assignment {
	var all []Assignment
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
			all = append(all, Assignment{Line: line})
			rest, line = behind, line+1
			continue
		}
		value, length := unquoted(rest[len(name[0]):])
		end := len(name[0]) + length
		all = append(all, Assignment{line, name[2], value, rest[len(name[0]):end], name[1] != ""})
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
