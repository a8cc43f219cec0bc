package revision

import (
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

// Several CorporateProxies may have a revision with the same number.
func TestAnIdentityIsOfOneRecordAlone(t *testing.T) {
	seen := map[string]v1alpha1.ReportedRevision{}
	for _, r := range []v1alpha1.ReportedRevision{
		{Proxy: "a", Number: 3, Digest: "d"},
		{Proxy: "b", Number: 3, Digest: "d"},
		{Proxy: "a", Number: 4, Digest: "d"},
		{Proxy: "a", Number: 3, Digest: "e"},
		{Proxy: "a", Number: 3, Digest: "d", Override: "o"},
		{Proxy: "a", Number: 3, Digest: "d", Facts: "o"},
		{Proxy: strings.Repeat("a", 253), Number: 1 << 62},
	} {
		identity := Identity(r)
		if other, ok := seen[identity]; ok {
			t.Errorf("%+v is %+v", r, other)
		}
		if seen[identity] = r; identity != ParseIdentity(identity+"\n") {
			t.Errorf("%q is none", identity)
		}
	}
	for _, text := range []string{"a b", "a\r\nb", "http://user:password@proxy", "ä", strings.Repeat("a", 301)} {
		if got := ParseIdentity(text); got != "" {
			t.Errorf("%q is %q", text, got)
		}
	}
}
