package noproxy

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Element is the text at one position of a list, as somebody wrote it.
type Element struct {
	Text       string // less the white space around it; empty where nothing stands
	Source     Source // its field has the position, counted from 0
	Start, End int    // its bytes in the list, with the white space around them
}

// Cut cuts a NO_PROXY string at commas, and at line ends between entries where no comma
// stands. Every message about a list counts positions by these cuts. Blanks do not
// separate, since clients disagree about them: Parse refuses an entry that contains
// one.
func Cut(list string, source Source) []Element {
	var elements []Element
	add := func(start, end int) {
		at := source
		at.Field = fmt.Sprintf("%s[%d]", source.Field, len(elements))
		elements = append(elements, Element{strings.TrimSpace(list[start:end]), at, start, end})
	}
	start := 0
	for between := range strings.SplitSeq(list, ",") {
		from, end := start, start+len(between)
		for _, line := range lineEnds(between) {
			add(from, start+line)
			from = start + line
		}
		add(from, end)
		start = end + len(",")
	}
	return elements
}

// lineEnds returns where lines end between which something stands.
func lineEnds(text string) []int {
	var ends []int
	filled := false
	for at, r := range text {
		switch {
		case (r == '\n' || r == '\r') && filled && strings.TrimSpace(text[at:]) != "":
			ends = append(ends, at)
			filled = false
		case !unicode.IsSpace(r):
			filled = true
		}
	}
	return ends
}

// Filled is Cut less the empty elements, whose positions count nevertheless.
func Filled(list string, source Source) []Element {
	return slices.DeleteFunc(Cut(list, source), func(e Element) bool { return e.Text == "" })
}

// Split is Filled for whom positions do not matter.
func Split(list string) []string {
	var tokens []string
	for _, element := range Filled(list, Source{}) {
		tokens = append(tokens, element.Text)
	}
	return tokens
}

// Elements returns the texts of a list that was never one string, as of YAML; the field
// gets their positions.
func Elements(texts []string, source Source) []Element {
	elements := make([]Element, len(texts))
	for i, text := range texts {
		elements[i] = Element{Text: text, Source: source}
		elements[i].Source.Field = fmt.Sprintf("%s[%d]", source.Field, i)
	}
	return elements
}

// Hidden stands in the place of every entry of a list that has user information in it.
const Hidden = "(hidden: a URL with user information is in the list)"

// HasUserinfo recognizes a proxy's URL with user information that ended up in a
// list, or the beginning of one: a comma in the password has cut it then, and
// any other entry may be a part of it. Nothing of such a list is shown.
func HasUserinfo(text string) bool {
	if strings.Contains(text, "@") {
		return true
	}
	_, rest, ok := strings.Cut(text, "://")
	_, rest, behind := strings.Cut(rest[strings.LastIndexByte(rest, ']')+1:], ":")
	if !ok || !behind {
		return false
	}
	port, _, _ := strings.Cut(rest, "/")
	_, err := strconv.ParseUint(port, 10, 16)
	return err != nil
}

// Whole refuses a list as a whole if one of its entries has user information; its
// number is the first result, -1 if there is none.
func Whole(texts []string) (int, *Refusal) {
	at := slices.IndexFunc(texts, HasUserinfo)
	if at < 0 {
		return at, nil
	}
	return at, &Refusal{
		Value: Hidden, Reason: ReasonUserinfo,
		Detail: "an entry is a host or a network, not a URL with user information, which commas may have cut: take it out",
	}
}

// Shown returns a part of a list as it may be shown.
func Shown(list, part string) string {
	if part != "" && slices.ContainsFunc(Split(list), HasUserinfo) {
		return Hidden
	}
	return part
}

// Redacted returns a text of which only what stands in front of an @, or behind
// the colon of a URL, may be a password: less that.
func Redacted(text string) string {
	if at := strings.LastIndexByte(text, '@'); at >= 0 {
		return "***" + text[at:]
	}
	if scheme, rest, ok := strings.Cut(text, "://"); ok {
		if host, _, ok := strings.Cut(rest, ":"); ok {
			return scheme + "://" + host + ":***"
		}
	}
	return text
}
