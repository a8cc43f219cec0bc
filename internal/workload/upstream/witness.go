package upstream

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"
)

// Usage is what a dialer has seen of a credential.
type Usage struct {
	Fingerprint  string    // says nothing of the credential to who lacks the key
	LastAccepted time.Time // by a proxy; zero if never
	Tunnels      int       // open ones that it was accepted for
}

// Usage returns what was seen of each credential that was accepted or has open tunnels, in the order of their fingerprints.
// With the same key, dialers name the same credential alike.
func (d *Dialer) Usage(key string) []Usage {
	d.attempts.mutex.Lock()
	defer d.attempts.mutex.Unlock()
	byHeader := map[string]Usage{}
	for of, state := range d.attempts.known {
		if of.header == "" || state.last.IsZero() && state.tunnels == 0 {
			continue
		}
		usage := byHeader[of.header]
		usage.Fingerprint = fingerprint(key, of.header)
		usage.Tunnels += state.tunnels
		if state.last.After(usage.LastAccepted) {
			usage.LastAccepted = state.last
		}
		byHeader[of.header] = usage
	}
	var all []Usage
	for _, usage := range byHeader {
		all = append(all, usage)
	}
	slices.SortFunc(all, func(a, b Usage) int { return strings.Compare(a.Fingerprint, b.Fingerprint) })
	return all
}

// Fingerprints returns those of the credentials for https URLs by their place, current or previous.
func (s *Settings) Fingerprints() map[string]string {
	prints := map[string]string{}
	for _, credential := range s.HTTPS.Credentials {
		if !credential.IsZero() {
			prints[credential.Name] = fingerprint(s.Key, credential.Header())
		}
	}
	return prints
}

// randomKey makes fingerprints that nobody can compare with those of another process.
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
		d.attempts.stateOf(t.by).tunnels += by
	}
	count(1)
	return func() { count(-1) }
}
