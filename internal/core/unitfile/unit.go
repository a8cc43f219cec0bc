// Package unitfile reads what systemd reads: units, their drop-ins, and files of environment variables (man systemd.syntax,
// systemd.exec).
package unitfile

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Service is the section that has the environment of a service.
const Service = "[Service]"

// Line is an assignment of a unit.
type Line struct {
	Number              int
	Section, Key, Value string
}

// blanks are all that systemd takes for white space.
const blanks = " \t\n\r"

var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// Lines returns the assignments of a unit, with lines joined that \ continues.
func Lines(data []byte) []Line {
	var lines []Line
	section := ""
	take := func(number int, text string) {
		text = strings.Trim(text, blanks)
		if strings.HasPrefix(text, "[") {
			section = text
		} else if key, value, ok := strings.Cut(text, "="); ok {
			lines = append(lines, Line{number, section, strings.Trim(key, blanks), strings.Trim(value, blanks)})
		}
	}
	number, start := 0, 0
	var joined strings.Builder
	for text := range strings.Lines(lineEnds.Replace(strings.TrimPrefix(string(data), ByteOrderMark))) {
		number++
		text = strings.TrimSuffix(text, "\n")
		trimmed := strings.Trim(text, blanks)
		if trimmed == "" && joined.Len() == 0 || strings.HasPrefix(trimmed, "#") || strings.HasPrefix(trimmed, ";") {
			continue
		}
		if joined.Len() == 0 {
			start = number
		}
		if continues(text) {
			joined.WriteString(text[:len(text)-1] + " ")
			continue
		}
		take(start, joined.String()+text)
		joined.Reset()
	}
	take(start, joined.String())
	return lines
}

// ByteOrderMark begins a file that some editors write. systemd skips it in units, and not in files of variables.
const ByteOrderMark = "\ufeff"

// continues reports whether a line ends with a backslash that no other escapes.
func continues(text string) bool {
	return (len(text)-len(strings.TrimRight(text, `\`)))%2 == 1
}

// Words takes a line apart at its blanks, with the quotes and escapes of systemd. Beside an error are the words before it,
// which systemd has taken by then.
func Words(text string) ([]string, error) {
	var words []string
	var current strings.Builder
	inWord, quote := false, byte(0)
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '\\':
			length, err := unescape(&current, text[i+1:])
			if err != nil {
				return words, err
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
		return words, errors.New("a quote is not closed")
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
	if simple, ok := simpleEscapes[text[0]]; ok {
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

// Specified takes %% for %. Any other letter or digit behind % is a specifier, and an error.
func Specified(value string) (string, error) {
	for _, at := range specifier.FindAllStringIndex(value, -1) {
		if value[at[0]+1] != '%' {
			return "", specifierError(value, at[0])
		}
	}
	return strings.ReplaceAll(value, "%%", "%"), nil
}

// specifierError is about the % at this byte. Specifiers are letters; systemd drops a variable with any other.
func specifierError(value string, at int) error {
	effect := "does not arrive"
	if next := value[at+1] | 0x20; 'a' <= next && next <= 'z' {
		effect = "arrives as another one, or not at all"
	}
	return fmt.Errorf("systemd reads %% as a specifier, so this variable %s: write %%%% for each %% (character %d)", effect, utf8.RuneCountInString(value[:at])+1)
}
