package revision

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

// maxIdentity is how long an identity may be: a name of 253 characters, a number and a hash.
const maxIdentity = 300

// Identity returns one word for the settings that a cluster is to have: the CorporateProxy, the number, and a hash that
// tells them from others with that number. The word goes to the cluster with the settings, and returns with the
// observations of them. The digest in the hash is a keyed one.
func Identity(r v1alpha1.ReportedRevision) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q", r.Digest, r.Override, r.Facts))
	return fmt.Sprintf("%s/%d/%s", r.Proxy, r.Number, hex.EncodeToString(sum[:6]))
}

// ParseIdentity returns a text of somebody else's if it may be an identity; else nothing.
func ParseIdentity(text string) string {
	text = strings.TrimSpace(text)
	if len(text) > maxIdentity || strings.ContainsFunc(text, func(c rune) bool { return c <= ' ' || c > '~' || c == '@' }) {
		return ""
	}
	return text
}
