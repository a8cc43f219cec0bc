// Package cabundle reads the certificates of a company's authorities as people
// keep them, and writes them out in one way only. It is strict: what machines
// come to trust must be what somebody can see in the file, and a private key
// must not travel on.
//
// The package is pure: whether a certificate has expired is for callers to ask,
// who have a clock.
package cabundle

import (
	"cmp"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// MaxBytes is the longest bundle. It stands in a Secret beside all other keys,
// and once more in base64, and a Secret holds 1 MiB. All public authorities of
// Mozilla together are a little less.
const MaxBytes = 256 << 10

// Bundle is one certificate or several, all of authorities.
type Bundle struct {
	PEM          []byte        // one block each, in the order of the input, and nothing else
	Certificates []Certificate // what is in it
}

// Parse reads PEM: blocks of type CERTIFICATE (RFC 7468), between which blank
// lines and comments (#) may stand. A certificate that is there twice counts
// once. The error says in which line what is wrong, and shows nothing of the
// content: somebody may have pasted a key.
func Parse(data []byte) (Bundle, error) {
	if line := privateKey(data); line > 0 {
		return Bundle{}, errKey(line)
	}
	if len(data) > MaxBytes {
		return Bundle{}, fmt.Errorf("has %d bytes; a bundle has at most %d, since it goes into Secrets and user data: leave the public authorities out", len(data), MaxBytes)
	}
	blocks, err := split(data)
	if err != nil {
		return Bundle{}, err
	}
	var bundle Bundle
	known := map[string]bool{}
	for _, b := range blocks {
		certificate, err := b.certificate()
		if err != nil {
			return Bundle{}, err
		}
		if known[string(certificate.Raw)] {
			continue
		}
		known[string(certificate.Raw)] = true
		bundle.PEM = append(bundle.PEM, pem.EncodeToMemory(&pem.Block{Type: typeCertificate, Bytes: certificate.Raw})...)
		bundle.Certificates = append(bundle.Certificates, describe(certificate))
	}
	if len(bundle.Certificates) == 0 {
		return Bundle{}, errors.New("has no certificate in it")
	}
	return bundle, nil
}

// Expiry returns when the first certificate of a bundle expires, or false where
// there is none.
func Expiry(certificates []Certificate) (Instant, bool) {
	if len(certificates) == 0 {
		return Instant{}, false
	}
	first := slices.MinFunc(certificates, func(a, b Certificate) int { return cmp.Compare(a.NotAfter.Unix, b.NotAfter.Unix) })
	return first.NotAfter, true
}

func errKey(line int) error {
	return fmt.Errorf("line %d: a private key is in it: take it out, and replace the key, since everybody who could read this has it", line)
}

// certificate reads a block as the certificate of an authority.
func (b block) certificate() (*x509.Certificate, error) {
	if b.kind != typeCertificate {
		return nil, fmt.Errorf("line %d: a block of type %s; only %s is meant here", b.line, shownType(b.kind), typeCertificate)
	}
	decoded, rest := pem.Decode(b.text)
	if decoded == nil || len(rest) > 0 || len(decoded.Headers) > 0 {
		return nil, fmt.Errorf("line %d: the block that begins here is not valid PEM: its base64 is damaged, or there are headers in it", b.line)
	}
	certificate, err := x509.ParseCertificate(decoded.Bytes)
	switch {
	case err != nil && isKey(decoded.Bytes):
		return nil, errKey(b.line)
	case err != nil:
		return nil, fmt.Errorf("line %d: the block that begins here is not a certificate that can be read: %s", b.line, withoutContent(err))
	}
	if reason := noAuthority(certificate); reason != "" {
		return nil, fmt.Errorf("line %d: the certificate that begins here is not one of an authority: %s", b.line, reason)
	}
	return certificate, nil
}

// withoutContent leaves out what package x509 quotes from the certificate.
func withoutContent(err error) string {
	reason, _, _ := strings.Cut(err.Error(), `"`)
	return strings.TrimSpace(reason)
}

// isKey reports whether a block holds a private key, whatever its type says.
func isKey(der []byte) bool {
	_, pkcs1 := x509.ParsePKCS1PrivateKey(der)
	_, pkcs8 := x509.ParsePKCS8PrivateKey(der)
	_, sec1 := x509.ParseECPrivateKey(der)
	return pkcs1 == nil || pkcs8 == nil || sec1 == nil
}

// noAuthority returns why a certificate cannot sign others. The rule is the one
// in x509.Certificate.CheckSignatureFrom (RFC 5280, section 4.2.1.9). A
// certificate of version 1 has no such field, and may be an authority's.
func noAuthority(c *x509.Certificate) string {
	switch {
	case c.BasicConstraintsValid && !c.IsCA:
		return "basicConstraints says CA:FALSE"
	case c.Version == 3 && !c.BasicConstraintsValid:
		return "it has no basicConstraints"
	case c.KeyUsage != 0 && c.KeyUsage&x509.KeyUsageCertSign == 0:
		return "keyUsage does not allow it to sign certificates"
	}
	return ""
}
