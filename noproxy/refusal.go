package noproxy

import (
	"fmt"
	"strconv"
	"strings"
)

// Reason names why an entry was refused. The values are stable: they appear
// in reports and in the output of the command line.
type Reason string

// The reasons for which an entry is refused.
const (
	ReasonEmpty     Reason = "Empty"
	ReasonTooLong   Reason = "TooLong"
	ReasonScheme    Reason = "Scheme"
	ReasonUserinfo  Reason = "Userinfo"
	ReasonPath      Reason = "Path"
	ReasonSpace     Reason = "Space"
	ReasonCharacter Reason = "Character"
	ReasonWildcard  Reason = "Wildcard"
	ReasonRange     Reason = "Range"
	ReasonPrefix    Reason = "Prefix"
	ReasonAddress   Reason = "Address"
	ReasonZone      Reason = "Zone"
	ReasonPort      Reason = "Port"
	ReasonLabel     Reason = "Label"
	ReasonIDNA      Reason = "IDNA"
	ReasonHost      Reason = "Host"
	ReasonTooBroad  Reason = "TooBroad"
	ReasonUnknown   Reason = "NotDerived"
)

// Refusal is the error for one entry that cannot be used.
type Refusal struct {
	Value  string // as written, shortened, and without anything before an @
	Reason Reason
	Detail string // what is wrong, and what to write instead
}

// Error returns value, reason and detail in one line.
func (r *Refusal) Error() string {
	return fmt.Sprintf("%s: %s (%s)", strconv.Quote(r.Value), r.Detail, r.Reason)
}

// Refuse returns the refusal of value, which is shortened and Redacted, so that
// a proxy URL which ended up in the wrong field does not show its password. Of a
// list, Whole decides first whether an entry is shown at all.
func Refuse(value string, reason Reason, detail string) *Refusal {
	const shown = 80
	value = Redacted(value)
	if len(value) > shown {
		value = strings.ToValidUTF8(value[:shown], "") + "…"
	}
	return &Refusal{Value: value, Reason: reason, Detail: detail}
}

func refuse(value string, reason Reason, format string, args ...any) error {
	return Refuse(value, reason, fmt.Sprintf(format, args...))
}
