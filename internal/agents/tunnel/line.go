package tunnel

import (
	"path"
	"slices"
	"strings"
)

// line is what a container runs.
type line struct {
	words    []string // the program first, where the pod names it
	shell    bool     // a shell starts it: words are what could be seen in its script
	exported map[string]string
}

// commandLine returns what a container runs. Its image may name the program and more.
func commandLine(c Container, env environment) line {
	var all []string
	for _, word := range slices.Concat(c.Command, c.Args) {
		all = append(all, env.expand(word).value)
	}
	if script, ok := shellScript(all); ok {
		return readScript(script)
	}
	return line{words: all}
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
		all := words(command)
		for len(all) > 0 {
			name, value, assigns := strings.Cut(all[0], "=")
			switch {
			case assigns && isName(name):
				l.exported[name] = value
			case all[0] != "exec" && all[0] != "export" && all[0] != "env":
				if recognize(Container{}, line{words: all}, nil) != nil {
					l.words = all
					return l
				}
				all = nil
				continue
			}
			all = all[1:]
		}
	}
	return l
}

func isName(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
}

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

// program is the base name of the first word; empty where that is a flag.
func (l line) program() string {
	if len(l.words) == 0 || strings.HasPrefix(l.words[0], "-") {
		return ""
	}
	return path.Base(l.words[0])
}

// flag returns the last value of one of these flags: "--f=v", "--f v", or "-fv" of a short one that takes any.
func (l line) flag(names ...string) (string, bool) {
	value, found := "", false
	for i, word := range l.words {
		for _, name := range names {
			switch {
			case strings.HasPrefix(word, name+"="):
				value, found = word[len(name)+1:], true
			case word == name && i+1 < len(l.words):
				value, found = l.words[i+1], true
			case len(name) == 2 && len(word) > 2 && strings.HasPrefix(word, name) && word[1] != '-':
				value, found = word[2:], true
			}
		}
	}
	return value, found
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
