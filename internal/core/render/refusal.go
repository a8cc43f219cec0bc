package render

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/fairlead-io/fairlead/internal/core/resolve"
)

// refusal says why a place cannot carry a value. It names the variable, never
// the value.
type refusal struct {
	reason resolve.Reason
	text   string
}

func (r refusal) Error() string { return r.text }

func notCarriable(format string, args ...any) error {
	return refusal{resolve.ReasonNotCarriable, fmt.Sprintf(format, args...)}
}

func tooLong(format string, args ...any) error {
	return refusal{resolve.ReasonTooLarge, fmt.Sprintf(format, args...)}
}

// problemAt makes a Problem of a refusal: which cluster, and which file it is
// that cannot be written.
func problemAt(e resolve.Effective, field string, err error) error {
	var r refusal
	if !errors.As(err, &r) {
		return err
	}
	return &resolve.Problem{Reason: r.reason, Object: "Cluster " + e.Namespace + "/" + e.Cluster, Field: field, Detail: r.text}
}

// checkVariable refuses what no environment variable that systemd passes on can
// hold: a NUL byte, invalid UTF-8, noncharacters, and more bytes than execve(2)
// takes.
func checkVariable(name, value string) error {
	switch {
	case strings.ContainsRune(value, 0):
		return notCarriable("%s contains a NUL byte, which no environment can carry", name)
	case !utf8.ValidString(value):
		return notCarriable("%s is not valid UTF-8, which systemd refuses", name)
	case strings.ContainsFunc(value, isNoncharacter):
		return notCarriable("%s contains a noncharacter of Unicode, at which systemd stops reading the file", name)
	case len(value) > MaxNoProxyBytes:
		return tooLong("%s has %d bytes; a process environment carries at most %d", name, len(value), MaxNoProxyBytes)
	}
	return nil
}

// isNoncharacter reports whether systemd refuses a rune although it is UTF-8
// (src/basic/utf8.c, unichar_is_valid).
func isNoncharacter(r rune) bool { return r >= 0xfdd0 && r <= 0xfdef || r&0xfffe == 0xfffe }

func isControl(r rune) bool { return r < 0x20 || r == 0x7f }

// checkUserData refuses a text that would not arrive on a machine as it is here.
// The kubeadm bootstrap provider puts it, indented, below "content: |"
// (sigs.k8s.io/cluster-api, bootstrap/kubeadm/pkg/cloudinit), and cloud-init reads
// the whole as a jinja template first, then as YAML. What arrives always has one
// line end at its end.
//
// A twin in base64 does not help the text itself, so it is refused even where
// twins are asked for. No value that Fairlead accepts comes to this: URLs and
// entries are printable ASCII without braces.
func checkUserData(text string) error {
	first := strings.TrimLeft(text, "\n")
	switch {
	case !utf8.ValidString(text):
		return notCarriable("is not valid UTF-8: user data of cloud-init cannot carry it")
	case strings.ContainsFunc(text, isYAMLBreaker):
		return notCarriable("contains a control character or a line end other than \\n: user data of cloud-init cannot carry it")
	case strings.HasPrefix(first, " "), strings.HasPrefix(first, "\t"):
		return notCarriable("starts with a blank, which YAML takes for its indentation")
	case jinjaStart.MatchString(text):
		return notCarriable("contains {{, {%% or {#, which starts something in jinja, as which cloud-init reads user data")
	}
	return nil
}

var jinjaStart = regexp.MustCompile(`\{[{%#]`)

// isYAMLBreaker reports whether YAML does not take a rune (YAML 1.1, c-printable), or reads it as a
// line end and writes it as another.
func isYAMLBreaker(r rune) bool {
	return r != '\n' && r != '\t' && (isControl(r) || r >= 0x80 && r <= 0x9f || strings.ContainsRune("\u2028\u2029\ufeff\ufffe\uffff", r))
}
