package unitfile

import (
	"errors"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// ofSystem has the specifiers whose value is the same on every machine, for services of the system.
var ofSystem = map[byte]string{
	'C': "/var/cache", 'E': "/etc", 'G': "0", 'L': "/var/log", 'S': "/var/lib", 'U': "0", 'g': "root", 'h': "/root", 't': "/run", 'u': "root",
}

// The specifiers that each machine has something else for, in any version of systemd: in units, and in the manager's own
// configuration.
const (
	ofMachine = "aAbBcdDfHlmMoqrRsTvVwWyY"
	ofManager = "aAbBHlmMoTvVwW"
)

var specifier = regexp.MustCompile(`%[0-9A-Za-z%]`)

// Expand puts in what specifiers are in this unit; of the manager's own configuration, the unit is "". Those that only the
// machine knows stay in the text, and are named. With an unknown one, systemd drops what it stands in.
func Expand(text, unit string) (expanded string, left []string, err error) {
	known, machine := ofName(unit), ofMachine
	if unit == "" {
		machine = ofManager
	}
	expanded = specifier.ReplaceAllStringFunc(text, func(found string) string {
		c := found[1]
		if value, ok := known[c]; ok {
			return value
		}
		switch {
		case c == '%':
			return "%"
		case strings.IndexByte(machine, c) < 0:
			err = errors.New("systemd reads % as a specifier and knows no such one: write %% for each %")
		case !slices.Contains(left, found):
			left = append(left, found)
		}
		return found
	})
	return expanded, left, err
}

// ofName returns what a unit's name gives, and its being one of the system.
func ofName(unit string) map[byte]string {
	if unit == "" {
		return nil
	}
	stem := strings.TrimSuffix(unit, ".service")
	prefix, instance, _ := strings.Cut(stem, "@")
	last := prefix[strings.LastIndexByte(prefix, '-')+1:]
	known := maps.Clone(ofSystem)
	maps.Copy(known, map[byte]string{
		'n': unit, 'N': stem, 'p': prefix, 'i': instance, 'j': last, 'P': unescapedName(prefix), 'I': unescapedName(instance), 'J': unescapedName(last),
	})
	return known
}

// unescapedName undoes systemd-escape.
func unescapedName(name string) string {
	var out strings.Builder
	for i := 0; i < len(name); i++ {
		switch name[i] {
		case '-':
			out.WriteByte('/')
		case '\\':
			length, err := unescape(&out, name[i+1:])
			if err != nil {
				return name // systemd takes no such name
			}
			i += length
		default:
			out.WriteByte(name[i])
		}
	}
	return out.String()
}
