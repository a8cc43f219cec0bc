package lint

import (
	"fmt"
	"time"

	"github.com/fairlead-io/fairlead/noproxy"
)

// End is when an entry, or a whole ProxyOverride, ends.
type End struct {
	What, Object, Field string
	Time                int64 // in seconds since 1970
	Owner, Reason       string
}

// near is how long before an end it is said.
const near = 3 * 24 * 60 * 60

// Ending says what ends soon, or has ended.
func Ending(in Input) []Finding {
	if in.Now == 0 {
		return nil
	}
	var findings []Finding
	for _, end := range in.Ends {
		at := time.Unix(end.Time, 0).UTC().Format(time.RFC3339)
		f := Finding{Code: Ends, Entries: []Entry{entryAt(end.What, noproxy.Source{Object: end.Object, Field: end.Field})}}
		switch {
		case end.Time <= in.Now:
			f.Severity, f.Why, f.Mend = Info, fmt.Sprintf("ended at %s, and has no effect any more", at), "remove it"
		case end.Time-in.Now <= near:
			f.Severity, f.Why = Warning, fmt.Sprintf("ends at %s; ask %s, who gave the reason: %s", at, end.Owner, end.Reason)
			f.Mend = "remove what needs it until then, or set another time"
		default:
			continue
		}
		findings = append(findings, f)
	}
	return findings
}
