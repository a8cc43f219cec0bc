package cabundle

import (
	"crypto/x509"
	"fmt"
	"strings"
	"unicode"
)

// Certificate has the fields of an X.509 certificate that people ask for.
type Certificate struct {
	Subject             string // RFC 4514; the serial number where it is empty
	NotBefore, NotAfter Instant
}

// Instant is a point in time, for programs and for people.
type Instant struct {
	Unix int64  // seconds since 1970
	Text string // 2027-01-31 12:00 UTC
}

func (i Instant) String() string { return i.Text }

// Validity says how a certificate stands at some time.
type Validity string

// The validities, the worst first.
const (
	Expired     Validity = "Expired"
	NotYetValid Validity = "NotYetValid"
	ExpiresSoon Validity = "ExpiresSoon"
	Valid       Validity = "Valid"
)

// Soon is how long before its end a certificate expires soon, in seconds.
const Soon = 30 * 24 * 60 * 60

// At returns how the certificate stands at a time in seconds since 1970. Like
// RFC 5280, section 4.1.2.5, it includes both ends.
func (c Certificate) At(now int64) Validity {
	switch {
	case now > c.NotAfter.Unix:
		return Expired
	case now < c.NotBefore.Unix:
		return NotYetValid
	case now >= c.NotAfter.Unix-Soon:
		return ExpiresSoon
	}
	return Valid
}

// Next returns the first time after now at which At changes, or false.
func (c Certificate) Next(now int64) (int64, bool) {
	for _, change := range []int64{c.NotBefore.Unix, c.NotAfter.Unix - Soon, c.NotAfter.Unix + 1} {
		if change > now && c.At(change) != c.At(now) {
			return change, true
		}
	}
	return 0, false
}

// Says returns a sentence about a certificate that stands like that.
func (c Certificate) Says(v Validity) string {
	switch v {
	case Expired:
		return fmt.Sprintf("%s expired on %s", c.Subject, c.NotAfter)
	case NotYetValid:
		return fmt.Sprintf("%s is not valid before %s", c.Subject, c.NotBefore)
	}
	return fmt.Sprintf("%s expires on %s", c.Subject, c.NotAfter)
}

const layout = "2006-01-02 15:04 UTC"

func describe(c *x509.Certificate) Certificate {
	return Certificate{
		Subject:   subject(c),
		NotBefore: Instant{c.NotBefore.Unix(), c.NotBefore.UTC().Format(layout)},
		NotAfter:  Instant{c.NotAfter.Unix(), c.NotAfter.UTC().Format(layout)},
	}
}

// maxSubject keeps a message about several certificates readable.
const maxSubject = 200

func subject(c *x509.Certificate) string {
	text := strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, c.Subject.String())
	if text == "" {
		return fmt.Sprintf("the certificate with serial number %x", c.SerialNumber)
	}
	if len(text) > maxSubject {
		text = strings.ToValidUTF8(text[:maxSubject], "") + "…"
	}
	return text
}
