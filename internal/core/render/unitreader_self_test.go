package render

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A reader that accepts everything would find nothing. The rows were measured
// with systemd 252 and 257.
func TestTheReaderOfUnitFilesKnowsWhatSystemdDoes(t *testing.T) {
	for name, test := range map[string]struct {
		line string
		want map[string]string // nil: systemd drops the assignment, or more
	}{
		"a quoted assignment":         {`"V=a, b"`, map[string]string{"V": "a, b"}},
		"single quotes":               {`'V=a, b'`, map[string]string{"V": "a, b"}},
		"quotes around the value":     {`V="a, b"`, map[string]string{"V": "a, b"}},
		"two assignments":             {`A=1 "B=2 3"`, map[string]string{"A": "1", "B": "2 3"}},
		"no quotes":                   {`V=a, b`, nil},
		"a percent-encoding":          {`"V=p%40ss"`, nil},
		"a specifier":                 {`"V=%n"`, nil},
		"a doubled percent sign":      {`"V=%%40"`, map[string]string{"V": "%40"}},
		"a last percent sign":         {`"V=100%"`, map[string]string{"V": "100%"}},
		"a percent sign and a stroke": {`"V=%-"`, map[string]string{"V": "%-"}},
		"dollars":                     {"\"V=$HOME ${X} $$ `x`\"", map[string]string{"V": "$HOME ${X} $$ `x`"}},
		"escapes":                     {`"V=\\\"\n\t\s\x41\101\u00e9\b"`, map[string]string{"V": "\\\"\n\t AAé\b"}},
		"an unknown escape":           {`"V=DOM\user"`, nil},
		"an escaped dollar":           {`"V=\$"`, nil},
		"an escaped NUL":              {`"V=\x00"`, nil},
		"an open quote":               {`V=it's`, nil},
		"a comment after it":          {`V=a # comment`, nil},
		"a hash inside":               {`V=a#b;c`, map[string]string{"V": "a#b;c"}},
		"the same twice":              {"V=1\nEnvironment=V=2", map[string]string{"V": "2"}},
		"reset":                       {"V=1\nEnvironment=\nEnvironment=W=2", map[string]string{"W": "2"}},
		"a continued line":            {"\"V=a\\\nb\"", map[string]string{"V": "a b"}},
		"a name with a stroke":        {`A-B=1`, nil},
		"invalid UTF-8":               {"V=\xff", nil},
		"a noncharacter":              {"V=\uffff", nil},
		"a second line of something":  {"V=1\nx", nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := readUnit("[Service]\nEnvironment=" + test.line + "\n")
			if (err == nil) != (test.want != nil) {
				t.Fatalf("read as %q (%v)", got, err)
			}
			if diff := cmp.Diff(test.want, got); err == nil && diff != "" {
				t.Error(diff)
			}
		})
	}
}
