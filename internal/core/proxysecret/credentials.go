package proxysecret

import (
	"fmt"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/core/proxyenv"
	"github.com/fairlead-io/fairlead/internal/core/proxyurl"
	"github.com/fairlead-io/fairlead/internal/core/render"
)

// CredentialsAnnotation of the source is the management cluster's fingerprint of the credentials in it, or NoCredentials.
// That of a copy is a History. It is there only where somebody counts.
const CredentialsAnnotation = "fairlead.io/credentials"

// NoCredentials is the fingerprint where there are no credentials, or no proxy. Unknown is the fingerprint where
// credentials came without one.
const (
	NoCredentials = "none"
	Unknown       = "unknown"
)

// History says which credentials a copy has, and which it had before: the newest first.
type History []Had

// Had is since when a copy has or had credentials.
type Had struct {
	Fingerprint string
	Since       time.Time
}

// maxHistory bounds the annotation. A container that started before all of it has nobody knows what.
const maxHistory = 5

// ParseHistory reads an annotation. What cannot be read is none.
func ParseHistory(text string) History {
	var h History
	for part := range strings.SplitSeq(text, ",") {
		fingerprint, since, _ := strings.Cut(part, "@")
		at, err := time.Parse(time.RFC3339, since)
		if err != nil || fingerprint == "" || len(h) == maxHistory || len(h) > 0 && h[len(h)-1].Since.Before(at) {
			return nil
		}
		h = append(h, Had{fingerprint, at})
	}
	return h
}

// String returns the annotation.
func (h History) String() string {
	parts := make([]string, len(h))
	for i, had := range h {
		parts[i] = fmt.Sprintf("%s@%s", had.Fingerprint, had.Since.UTC().Format(time.RFC3339))
	}
	return strings.Join(parts, ",")
}

// Now returns the fingerprint of the copy's current credentials; empty where nothing is noted.
func (h History) Now() string {
	if len(h) == 0 {
		return ""
	}
	return h[0].Fingerprint
}

// Next returns the history of a copy that has these credentials from now on. Its data says whether they changed: a fingerprint alone
// changes with the key, too. If they changed and the fingerprint did not, nobody knows what was there before.
func (h History) Next(fingerprint string, changed bool, at time.Time) History {
	switch {
	case len(h) == 0, changed && h[0].Fingerprint == fingerprint:
		return History{{fingerprint, at}}
	case changed:
		return append(History{{fingerprint, at}}, h[:min(len(h), maxHistory-1)]...)
	case h[0].Fingerprint != fingerprint:
		return append(History{{fingerprint, h[0].Since}}, h[1:]...)
	}
	return h
}

// Lag is how long after a change a container may still get the earlier data: the kubelet hears of it by a watch, its
// clock is another, and times are whole seconds.
const Lag = 5 * time.Second

// At returns what a container got that started then.
func (h History) At(started time.Time) string {
	for _, had := range h {
		if started.After(had.Since.Add(Lag)) {
			return had.Fingerprint
		}
	}
	return Unknown
}

// Account identifies the credentials in the data of a Secret: the same for other proxies and other lists. It is empty without
// any, and as secret as they are.
func Account(data map[string][]byte) string {
	var found []proxyurl.URL
	for _, key := range []string{proxyenv.HTTP, proxyenv.HTTPS} {
		u, err := proxyurl.Parse(string(data[key]))
		if err != nil {
			return "unreadable " + string(data[key])
		}
		found = append(found, u)
	}
	return string(render.Account(found[0], found[1]))
}
