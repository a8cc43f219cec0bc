package render

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// checkUserData refuses a text that would not arrive on a machine as it is here.
// The kubeadm bootstrap provider puts it, indented, below "content: |"
// (sigs.k8s.io/cluster-api, bootstrap/kubeadm/pkg/cloudinit), and cloud-init reads
// the whole as a jinja template first, then as YAML. What arrives always has one
// line end at its end.
//
// A twin in base64 does not help the text itself, so it is refused even where
// twins are asked for. No value that Fairlead accepts comes to this: URLs and
// entries are printable ASCII without braces.
func checkUserData(text string) error {
	first := strings.TrimLeft(text, "\n")
	switch {
	case !utf8.ValidString(text):
		return notCarriable("is not valid UTF-8: user data of cloud-init cannot carry it")
	case strings.ContainsFunc(text, isYAMLBreaker):
		return notCarriable("contains a control character or a line end other than \\n: user data of cloud-init cannot carry it")
	case strings.HasPrefix(first, " "), strings.HasPrefix(first, "\t"):
		return notCarriable("starts with a blank, which YAML takes for its indentation")
	case jinjaStart.MatchString(text):
		return notCarriable("contains {{, {%% or {#, which starts something in jinja, as which cloud-init reads user data")
	}
	return nil
}

var jinjaStart = regexp.MustCompile(`\{[{%#]`)

// isYAMLBreaker is what YAML does not take (YAML 1.1, c-printable), or reads as a
// line end and writes as another.
func isYAMLBreaker(r rune) bool {
	return r != '\n' && r != '\t' && (isControl(r) || r >= 0x80 && r <= 0x9f || strings.ContainsRune("\u2028\u2029\ufeff\ufffe\uffff", r))
}
