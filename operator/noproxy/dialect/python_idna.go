package dialect

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// The package idna of Python (kjd/idna) does IDNA 2008 without mapping: upper
// case, symbols and emoji are errors. The nearest of Go is the profile for
// registration, which lets symbols pass.
var idnaStrict = idna.New(idna.ValidateForRegistration())

// idna2008 encodes one label.
func idna2008(label string) (string, bool) {
	for _, r := range label {
		if r >= utf8.RuneSelf && !unicode.In(r, letterDigits...) && !strings.ContainsRune(contextual, r) {
			return "", false
		}
	}
	encoded, err := idnaStrict.ToASCII(label)
	return encoded, err == nil && !strings.ContainsRune(label, '.')
}

// letterDigits are the categories of RFC 5892, 2.1 without upper case, which is
// not stable under folding; contextual are the exceptions of 2.6 beside them.
var letterDigits = []*unicode.RangeTable{unicode.Ll, unicode.Lo, unicode.Lm, unicode.Mn, unicode.Mc, unicode.Nd}

const contextual = "\u00b7\u0375\u05f3\u05f4\u06fd\u06fe\u0f0b\u3007\u30fb\u200c\u200d"

// idna2008Name encodes a name with characters that are not ASCII: then every
// label must be valid, and the dots of other scripts are dots.
func idna2008Name(name string) (string, bool) {
	labels := strings.Split(strings.NewReplacer("。", ".", "．", ".", "｡", ".").Replace(name), ".")
	for i, label := range labels {
		if label == "" && i == len(labels)-1 && i > 0 {
			break
		}
		encoded, ok := idna2008(label)
		if !ok || encoded == "" {
			return "", false
		}
		labels[i] = encoded
	}
	return strings.Join(labels, "."), true
}
