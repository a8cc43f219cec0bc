package dialect

import (
	"regexp"
	"slices"
	"strings"
)

var perlComma = regexp.MustCompile(`[\s\v]*,[\s\v]*`)

// cutPerl is split(/\s*,\s*/) of Perl: blanks around a comma go, those at both
// ends of the list stay, and so do empty elements but at the end.
func cutPerl(list string) []Span {
	var spans []Span
	start := 0
	for _, comma := range perlComma.FindAllStringIndex(list, -1) {
		spans = append(spans, Span{start, comma[0]})
		start = comma[1]
	}
	spans = append(spans, Span{start, len(list)})
	for len(spans) > 0 && spans[len(spans)-1].Empty() {
		spans = slices.Delete(spans, len(spans)-1, len(spans))
	}
	return spans
}

const emptyEntry = "an empty entry covers everything"

func (rule perlRule) entry(text string) (entry, bool) {
	if rule == perlDotless {
		text = strings.TrimPrefix(text, ".")
	}
	return entry{text: text}, true
}

// covers: case counts.
func (rule perlRule) covers(e *entry, h host) string {
	switch {
	case rule != perlSuffix:
		return (exactly | below).covers(e.text, h.name)
	case e.text == "" && h.name != "":
		return emptyEntry
	}
	return (exactly | ends).covers(e.text, h.name)
}
