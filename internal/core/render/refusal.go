package render

import (
	"errors"
	"fmt"
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

// isNoncharacter is what systemd does not count as UTF-8 although it is
// (src/basic/utf8.c, unichar_is_valid).
func isNoncharacter(r rune) bool { return r >= 0xfdd0 && r <= 0xfdef || r&0xfffe == 0xfffe }

func isControl(r rune) bool { return r < 0x20 || r == 0x7f }
