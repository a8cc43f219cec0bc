package importing

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// dropIn is a part of a unit of systemd, as systemd reads it (man systemd.syntax, systemd.exec).
var dropIn = &Format{
	Name: "drop-in", Title: "a drop-in of systemd",
	detect: func(f *file) bool {
		for _, l := range unitLines(f.data) {
			if l.key == "Environment" && l.section == serviceSection {
				return true
			}
		}
		return false
	},
	read: readDropIn,
	Adds: addsNothing,
}

func readDropIn(f *file) ([]Settings, error) {
	s := Settings{Place: f.at(0, "")}
	var words []word
	for _, l := range unitLines(f.data) {
		at := f.at(l.line, l.key)
		switch {
		case l.key == "Environment" && l.section != serviceSection:
			s.say(f.at(l.line, ""), NotSupported, outsideOfService)
		case l.section != serviceSection:
		case l.key == "EnvironmentFile":
			s.say(at, NotSupported, "import this file, too: it comes after Environment=")
		case l.key == "PassEnvironment" || l.key == "UnsetEnvironment":
			s.say(at, NotSupported, "Fairlead writes the variables that a unit gets")
		case l.key != "Environment": // its key may be a piece of a password, behind a quote that is not closed
			s.say(f.at(l.line, ""), NotRecognised, "not about the environment")
		case strings.TrimSpace(l.value) == "":
			words = nil
			s.say(at, Understood, "empty: forgets what stands before it")
		default:
			words = append(words, s.words(f, l)...)
		}
	}
	words = s.last(words)
	return []Settings{s}, s.assignAll(words)
}

// words are the assignments of a line.
func (s *Settings) words(f *file, l unitLine) []word {
	at := f.at(l.line, l.key)
	texts, err := splitWords(l.value)
	if err != nil {
		s.say(at, NotSupported, "systemd drops this line: "+err.Error())
		return nil
	}
	var words []word
	for i, text := range texts {
		name, value, found := strings.Cut(text, "=")
		if !found {
			s.say(at, NotSupported, "systemd drops a word without =: is a quote missing?")
			continue
		}
		where := at
		if proxyVariable.MatchString(name) || i == 0 && identifier.MatchString(name) { // others may be a piece of a password
			where.Field = name
		}
		if value, err = specified(value); err != nil {
			s.say(where, NotSupported, err.Error())
			continue
		}
		words = append(words, word{name: name, value: value, at: where})
	}
	return words
}

const (
	serviceSection   = "[Service]"
	outsideOfService = "Environment= stands outside of [Service]: systemd ignores it"
)

var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// outsideOfService is the first line with variables that systemd ignores; 0: there is none.
func (f *file) outsideOfService() int {
	for _, l := range unitLines(f.data) {
		if l.key == "Environment" && l.section != serviceSection {
			return l.line
		}
	}
	return 0
}

type unitLine struct {
	line                int
	section, key, value string
}

// unitLines are the assignments, with lines joined that \ continues.
func unitLines(data []byte) []unitLine {
	var all []unitLine
	section, number, start, joined := "", 0, 0, ""
	for text := range strings.Lines(string(data)) {
		number++
		text = strings.TrimRight(text, "\r\n")
		trimmed := strings.TrimSpace(text)
		if trimmed == "" && joined == "" || strings.HasPrefix(trimmed, "#") || strings.HasPrefix(trimmed, ";") {
			continue
		}
		if joined == "" {
			start = number
		}
		if before, continues := strings.CutSuffix(text, `\`); continues {
			joined += before + " "
			continue
		}
		whole := strings.TrimSpace(joined + text)
		joined = ""
		if strings.HasPrefix(whole, "[") {
			section = whole
			continue
		}
		if key, value, found := strings.Cut(whole, "="); found {
			all = append(all, unitLine{start, section, strings.TrimSpace(key), strings.TrimSpace(value)})
		}
	}
	return all
}

// splitWords takes a line apart at its blanks, with the quotes and escapes of systemd.
func splitWords(text string) ([]string, error) {
	var words []string
	var current strings.Builder
	inWord, quote := false, byte(0)
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '\\':
			length, err := unescape(&current, text[i+1:])
			if err != nil {
				return nil, err
			}
			i, inWord = i+length, true
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			quote, inWord = c, true
		case quote == 0 && (c == ' ' || c == '\t'):
			if inWord {
				words = append(words, current.String())
				current.Reset()
			}
			inWord = false
		default:
			current.WriteByte(c)
			inWord = true
		}
	}
	if quote != 0 {
		return nil, errors.New("a quote is not closed")
	}
	if inWord {
		words = append(words, current.String())
	}
	return words, nil
}

var simpleEscapes = map[byte]byte{
	'a': '\a', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', 'v': '\v', '\\': '\\', '"': '"', '\'': '\'', 's': ' ',
}

// unescape writes what stands behind a backslash, and says how long it was.
func unescape(into *strings.Builder, text string) (int, error) {
	if text == "" {
		return 0, errors.New("it ends with a backslash")
	}
	if simple, is := simpleEscapes[text[0]]; is {
		into.WriteByte(simple)
		return 1, nil
	}
	digits, base, from := map[byte]int{'x': 2, 'u': 4, 'U': 8}[text[0]], 16, 1
	if digits == 0 {
		digits, base, from = 3, 8, 0
	}
	if len(text) < from+digits {
		return 0, errors.New("an escape of systemd is unknown")
	}
	code, err := strconv.ParseUint(text[from:from+digits], base, 32)
	if err != nil || code == 0 {
		return 0, errors.New("an escape of systemd is unknown")
	}
	if from+digits <= 3 {
		into.WriteByte(byte(code))
		return from + digits, nil
	}
	into.WriteString(string(utf8.AppendRune(nil, rune(code))))
	return from + digits, nil
}

// specified takes %% for %. Anything else behind % is a specifier.
func specified(value string) (string, error) {
	var out strings.Builder
	for i := 0; i < len(value); i++ {
		out.WriteByte(value[i])
		if value[i] != '%' || i+1 == len(value) {
			continue
		}
		if value[i+1] != '%' {
			return "", specifierError(value, i)
		}
		i++
	}
	return out.String(), nil
}

// specifierError is about the % at this byte. Specifiers are letters; systemd drops a variable with any other.
func specifierError(value string, at int) error {
	effect := "does not arrive"
	if next := value[at+1] | 0x20; 'a' <= next && next <= 'z' {
		effect = "arrives as another one, or not at all"
	}
	return fmt.Errorf("systemd reads %% as a specifier, so this variable %s: write %%%% for each %% (character %d)", effect, utf8.RuneCountInString(value[:at])+1)
}
