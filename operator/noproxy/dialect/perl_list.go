package dialect

import (
	"regexp"
	"strings"
)

// perlList is a NO_PROXY list cut by split(/\s*,\s*/) of Perl: blanks around a
// comma go, those at both ends of the list stay, and so do empty elements but at
// the end.
type perlList struct {
	entries []perlEntry
	rule    perlRule
}

type perlEntry struct {
	span Span
	text string
}

var perlComma = regexp.MustCompile(`[\s\v]*,[\s\v]*`)

func compilePerl(noProxy string, rule perlRule) *perlList {
	l := &perlList{rule: rule}
	add := func(span Span) {
		text := span.Of(noProxy)
		if rule == perlDotless {
			text = strings.TrimPrefix(text, ".")
		}
		l.entries = append(l.entries, perlEntry{span, text})
	}
	start := 0
	for _, comma := range perlComma.FindAllStringIndex(noProxy, -1) {
		add(Span{start, comma[0]})
		start = comma[1]
	}
	add(Span{start, len(noProxy)})
	for len(l.entries) > 0 && l.entries[len(l.entries)-1].span.Empty() {
		l.entries = l.entries[:len(l.entries)-1]
	}
	return l
}

const emptyEntry = "an empty entry covers everything"

// match returns the first entry that a host ends with. Case counts.
func (l *perlList) match(host string) (Span, string, bool) {
	for i := range l.entries {
		e := &l.entries[i]
		switch {
		case e.text == host:
			return e.span, theName, true
		case l.rule != perlSuffix:
			if hasDomain(host, e.text) {
				return e.span, belowName, true
			}
		case e.text == "":
			return e.span, emptyEntry, true
		case strings.HasSuffix(host, e.text):
			return e.span, endsWith, true
		}
	}
	return Span{}, "", false
}
