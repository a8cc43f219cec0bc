package percent_test

import (
	"net/url"
	"testing"

	"github.com/fairlead-io/fairlead/noproxy/internal/percent"
)

func TestWhatIsEncodedDecodesToTheSame(t *testing.T) {
	for c := range 256 {
		text := string([]byte{'a', byte(c), '%', 'b'})
		encoded := percent.Encode(text, func(c byte) bool { return !percent.Unreserved(c) })
		standard, err := url.PathUnescape(encoded)
		if percent.Decode(encoded) != text || err != nil || standard != text || !percent.Valid(encoded) {
			t.Errorf("%q is encoded as %q and decoded as %q (net/url: %q, %v)", text, encoded, percent.Decode(encoded), standard, err)
		}
	}
}

func TestWhatIsNotEncodedStays(t *testing.T) {
	for _, text := range []string{"%", "%%", "%4", "%zz", "a%4g", "100%", "%-1", "%+1", "% 1"} {
		if percent.Decode(text) != text || percent.Valid(text) {
			t.Errorf("%q is decoded as %q, valid: %v", text, percent.Decode(text), percent.Valid(text))
		}
	}
	if got := percent.Decode("%%41%4a%4A%"); got != "%AJJ%" {
		t.Errorf("digits of either case: %q", got)
	}
}
