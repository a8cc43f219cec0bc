package render

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// readUnit is systemd's reader of Environment= in the section [Service],
// written from its manuals (systemd.syntax(7), systemd.unit(5) "Specifiers",
// systemd.exec(5) "Environment=") and held against the real one in
// systemd_real_test.go. It is strict: where systemd logs a warning and drops an
// assignment, a line or the rest of the file, this is an error, for a dropped
// assignment is a machine without a proxy.
func readUnit(text string) (map[string]string, error) {
	environment := map[string]string{}
	inService, continued := false, ""
	for number, line := range strings.Split(text, "\n") {
		if !utf8.ValidString(line) || strings.ContainsFunc(line, func(r rune) bool { return r >= 0xfdd0 && r <= 0xfdef || r&0xfffe == 0xfffe }) {
			return nil, fmt.Errorf("line %d is not UTF-8", number+1)
		}
		line = continued + strings.TrimLeft(line, unitSpace)
		if endsEscaped(line) {
			continued = line[:len(line)-1] + " "
			continue
		}
		continued, line = "", strings.Trim(line, unitSpace)
		key, value, assigns := strings.Cut(line, "=")
		switch {
		case line == "", line[0] == '#', line[0] == ';':
		case line == "[Service]":
			inService = true
		case !inService || !assigns || strings.Trim(key, unitSpace) != "Environment":
			return nil, fmt.Errorf("line %d is not Environment= of [Service]", number+1)
		default:
			if err := readAssignments(strings.Trim(value, unitSpace), environment); err != nil {
				return nil, fmt.Errorf("line %d: %w", number+1, err)
			}
		}
	}
	if continued != "" {
		return nil, errors.New("the last line goes on after the end")
	}
	return environment, nil
}

const unitSpace = " \t\r\n"

func endsEscaped(line string) bool {
	return (len(line)-len(strings.TrimRight(line, `\`)))%2 == 1
}

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func readAssignments(text string, into map[string]string) error {
	if text == "" {
		clear(into) // an empty assignment resets the list
	}
	words, err := splitWords(text)
	if err != nil {
		return err
	}
	for _, word := range words {
		resolved, err := resolveSpecifiers(word)
		if err != nil {
			return err
		}
		name, value, assigns := strings.Cut(resolved, "=")
		if !assigns || !variableName.MatchString(name) || !utf8.ValidString(value) {
			return fmt.Errorf("%q is no assignment", word)
		}
		into[name] = value
	}
	return nil
}

// splitWords removes quotes and undoes C escapes (systemd.syntax(7), "Quoting").
func splitWords(text string) ([]string, error) {
	var words []string
	var word strings.Builder
	inWord, quote := false, byte(0)
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\':
			character, length, err := undoEscape(text[i+1:])
			if err != nil {
				return nil, err
			}
			word.WriteString(character)
			inWord = true
			i += length
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			quote, inWord = c, true
		case quote == 0 && strings.IndexByte(unitSpace, c) >= 0:
			if inWord {
				words = append(words, word.String())
			}
			word.Reset()
			inWord = false
		default:
			word.WriteByte(c)
			inWord = true
		}
	}
	if quote != 0 {
		return nil, errors.New("a quote is not closed")
	}
	if inWord {
		words = append(words, word.String())
	}
	return words, nil
}

var simpleEscapes = map[byte]string{
	'a': "\a", 'b': "\b", 'f': "\f", 'n': "\n", 'r': "\r", 't': "\t", 'v': "\v", '\\': `\`, '"': `"`, '\'': "'", 's': " ",
}

// undoEscape reads what follows a backslash, and how long it is.
func undoEscape(text string) (string, int, error) {
	if text == "" {
		return "", 0, errors.New("nothing follows a backslash")
	}
	if character, ok := simpleEscapes[text[0]]; ok {
		return character, 1, nil
	}
	base, start := 16, 1
	var digits int
	switch c := text[0]; {
	case c == 'x':
		digits = 2
	case c == 'u':
		digits = 4
	case c == 'U':
		digits = 8
	case c >= '0' && c <= '7':
		digits, base, start = 3, 8, 0
	default:
		return "", 0, fmt.Errorf(`\%c is no escape`, c)
	}
	if len(text) < start+digits {
		return "", 0, errors.New("an escape is cut off")
	}
	n, err := strconv.ParseUint(text[start:start+digits], base, 32)
	switch {
	case err != nil:
		return "", 0, err
	case n == 0:
		return "", 0, errors.New("an escaped NUL")
	case digits > 3:
		return string(rune(n)), start + digits, nil
	case n > 255:
		return "", 0, errors.New("an octal escape above 255")
	}
	return string([]byte{byte(n)}), start + digits, nil
}

// resolveSpecifiers knows %% alone: any other specifier is one that systemd
// replaces, or one at which it drops the assignment.
func resolveSpecifiers(word string) (string, error) {
	var out strings.Builder
	for i := 0; i < len(word); i++ {
		c := word[i]
		out.WriteByte(c)
		if c != '%' || i+1 == len(word) { // a last % stays
			continue
		}
		next := word[i+1]
		switch {
		case next == '%':
			i++
		case next >= '0' && next <= '9', next >= 'a' && next <= 'z', next >= 'A' && next <= 'Z':
			return "", fmt.Errorf("specifier %%%c", next)
		}
	}
	return out.String(), nil
}
