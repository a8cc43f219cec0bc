package upstream

import (
	"cmp"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Usage has a dialer's observations of a credential.
type Usage struct {
	Fingerprint  string    // says nothing of the credential to who lacks the key
	LastAccepted time.Time // by a proxy; zero if never
	LastRefused  time.Time // by a proxy's answer to CONNECT: that to a request may be its destination's; zero if never
	Tunnels      int       // open ones that it was accepted for
}

// Usage returns what was seen of each credential that was accepted or refused or has open tunnels, in the order of their
// fingerprints, which are those of the settings.
func (d *Dialer) Usage(s *Settings) []Usage {
	d.attempts.mutex.Lock()
	defer d.attempts.mutex.Unlock()
	by := map[string]Usage{}
	for of, state := range d.attempts.known {
		if of.header == "" || state.last.IsZero() && state.said.IsZero() && state.tunnels == 0 {
			continue
		}
		fingerprint := s.fingerprint(of.header)
		usage := by[fingerprint]
		usage.Fingerprint = fingerprint
		usage.Tunnels += state.tunnels
		usage.LastAccepted = later(usage.LastAccepted, state.last)
		usage.LastRefused = later(usage.LastRefused, state.said)
		by[fingerprint] = usage
	}
	return slices.SortedFunc(maps.Values(by), func(a, b Usage) int { return strings.Compare(a.Fingerprint, b.Fingerprint) })
}

// Configured is a credential in settings, by its place there (current or previous) and its fingerprint.
type Configured struct{ Credential, Fingerprint string }

// Configured returns the credentials of other settings, with the fingerprints of these.
func (s *Settings) Configured(in *Settings) []Configured {
	var all []Configured
	for _, credential := range in.credentials() {
		c := Configured{credential.Name, s.fingerprint(credential.Header())}
		if !slices.Contains(all, c) {
			all = append(all, c)
		}
	}
	return all
}

// credentials returns the credentials of both proxies.
func (s *Settings) credentials() []Credential {
	return slices.DeleteFunc(slices.Concat(s.HTTPS.Credentials, s.HTTP.Credentials), Credential.IsZero)
}

// validMark matches a fingerprint of the management cluster: it becomes a label of metrics.
var validMark = regexp.MustCompile(`^[!-~]{1,128}$`)

// mark notes the fingerprints that come with the settings. One is of all the credentials of a place.
func (s *Settings) mark(files map[string]string) {
	s.marks = map[string]string{}
	for _, credential := range s.credentials() {
		mark := strings.TrimSpace(files[MarkFile])
		if credential.Name == "previous" {
			mark = strings.TrimSpace(files[MarkPreviousFile])
		}
		if validMark.MatchString(mark) {
			s.marks[credential.Header()] = cmp.Or(s.marks[credential.Header()], mark)
		}
	}
}

// remember keeps the fingerprints of earlier credentials: tunnels that were opened with them go on.
func (s *Settings) remember(previous *Settings) {
	own := s.credentials()
	for header, mark := range previous.marks {
		if !slices.ContainsFunc(own, func(c Credential) bool { return c.Header() == header }) {
			s.marks[header] = mark
		}
	}
}

// fingerprint returns the fingerprint of the management cluster, or one of our own. With the same key, dialers name the
// same credential alike.
func (s *Settings) fingerprint(header string) string {
	if s == nil {
		return fingerprint("", header)
	}
	return cmp.Or(s.marks[header], fingerprint(s.Key, header))
}

// randomKey makes fingerprints that cannot be compared with those of another process.
var randomKey = rand.Text()

// fingerprint is short: it tells a handful of credentials apart.
func fingerprint(key, header string) string {
	if key == "" {
		key = randomKey
	}
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte(header))
	return hex.EncodeToString(mac.Sum(nil)[:8])
}

// Hold counts a tunnel as open until the release.
func (d *Dialer) Hold(t Tunnel) (release func()) {
	count := func(by int) {
		d.attempts.mutex.Lock()
		defer d.attempts.mutex.Unlock()
		if t.by != nil {
			t.by.tunnels += by
		}
	}
	count(1)
	return func() { count(-1) }
}
