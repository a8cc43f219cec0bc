package tunnel

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// line is the command line of a container.
type line struct {
	words    []string          // the program, if the pod names one, and its arguments
	shell    bool              // a shell starts the program: words were found in its script
	exported map[string]string // variables that the script sets
}

// written returns the command line as it stands in the pod.
func (c Container) written() line { return line{words: slices.Concat(c.Command, c.Args)} }

// Has tells whether a flag stands in the command line.
func (c Container) Has(flag string) bool { return c.written().has(flag) }

// Hides tells whether a flag stands within a word, where no argument can be added: in a text for a shell.
func (c Container) Hides(flag string) bool {
	return slices.ContainsFunc(c.written().words, func(word string) bool { return strings.Contains(word, flag) && !strings.HasPrefix(word, flag) })
}

// Flag returns the value of a flag in the command line: of several, the last one counts.
func (c Container) Flag(name string) (string, bool) { return c.written().flag(name) }

// commandLine returns what a container runs, with variables expanded. What its image adds, such as the program, is unknown.
func commandLine(c Container, env environment) line {
	all := c.written()
	for i, word := range all.words {
		all.words[i] = env.expand(word).value
	}
	if script, ok := shellScript(all.words); ok {
		return readScript(script)
	}
	return all
}

var shells = []string{"sh", "bash", "ash", "dash"}

// shellScript returns what stands behind -c.
func shellScript(words []string) (string, bool) {
	if len(words) < 3 || !slices.Contains(shells, path.Base(words[0])) {
		return "", false
	}
	for i, word := range words[1 : len(words)-1] {
		if strings.HasPrefix(word, "-") && strings.HasSuffix(word, "c") && !strings.HasPrefix(word, "--") {
			return words[i+2], true
		}
	}
	return "", false
}

// readScript finds the first command that is a known program, and the variables set in front of it.
func readScript(script string) line {
	l := line{shell: true, exported: map[string]string{}}
	script = strings.NewReplacer("\\\n", " ", "\n", ";", "&&", ";", "||", ";", "|", ";").Replace(script)
	for command := range strings.SplitSeq(script, ";") {
		for all := words(command); len(all) > 0; all = all[1:] {
			name, value, assigns := strings.Cut(all[0], "=")
			if assigns && variableName.MatchString(name) {
				l.exported[name] = value
			} else if !slices.Contains([]string{"exec", "export", "env"}, all[0]) {
				if recognize(Container{}, line{words: all}, nil) != nil {
					l.words = all
					return l
				}
				break
			}
		}
	}
	return l
}

var variableName = regexp.MustCompile(`^\w+$`)

// words cuts a text at white space, and takes quotes away.
func words(text string) []string {
	var all []string
	var word strings.Builder
	var quote rune
	inside := false
	for _, r := range text {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '\'' || r == '"'):
			quote, inside = r, true
		case quote == 0 && strings.ContainsRune(" \t\r\n", r):
			if inside {
				all = append(all, word.String())
			}
			word.Reset()
			inside = false
		default:
			word.WriteRune(r)
			inside = true
		}
	}
	if inside {
		all = append(all, word.String())
	}
	return all
}

// program returns the base name of the first word; empty where that is a flag.
func (l line) program() string {
	if len(l.words) == 0 || strings.HasPrefix(l.words[0], "-") {
		return ""
	}
	return path.Base(l.words[0])
}

// values returns the values of these flags: "--f=v", "--f v", or "-fv" of a short one that takes any.
func (l line) values(names ...string) []string {
	var all []string
	for i, word := range l.words {
		for _, name := range names {
			switch {
			case strings.HasPrefix(word, name+"="):
				all = append(all, word[len(name)+1:])
			case word == name && i+1 < len(l.words):
				all = append(all, l.words[i+1])
			case len(name) == 2 && len(word) > 2 && strings.HasPrefix(word, name) && word[1] != '-':
				all = append(all, word[2:])
			}
		}
	}
	return all
}

// flag returns the last value of one of these flags.
func (l line) flag(names ...string) (string, bool) {
	if all := l.values(names...); len(all) > 0 {
		return all[len(all)-1], true
	}
	return "", false
}

// flagOr returns a default where there is none.
func (l line) flagOr(otherwise string, names ...string) string {
	if value, ok := l.flag(names...); ok {
		return value
	}
	return otherwise
}

// behind returns the words between the last one that is this flag and the next flag.
func (l line) behind(flag string) []string {
	var words []string
	inside := false
	for _, word := range l.words {
		switch {
		case word == flag:
			words, inside = nil, true
		case strings.HasPrefix(word, "--"):
			inside = false
		case inside:
			words = append(words, word)
		}
	}
	return words
}

func (l line) has(prefix string) bool {
	return slices.ContainsFunc(l.words, func(word string) bool { return word == prefix || strings.HasPrefix(word, prefix+"=") })
}
