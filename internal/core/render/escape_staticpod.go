package render

import (
	"encoding/json"
	"fmt"
	"strings"
)

// staticPodValue returns a value for env in a patch of a pod, as a JSON string.
//
// Kubernetes expands $(NAME) in it and takes $$ for $
// (k8s.io/kubernetes/third_party/forked/golang/expansion), so every $ is doubled.
// The patch passes jinja and YAML on its way to the machine (see checkUserData),
// and kubeadm reads JSON as YAML, which knows no surrogate pairs: so { and all
// outside printable ASCII is written as \uXXXX, but characters above U+FFFF stand
// for themselves.
//
// The error says what is refused; see checkVariable. kubeadm itself cannot write
// a manifest with some characters in it, or loses them (sigs.k8s.io/yaml reads its
// own JSON as YAML 1.1: DEL, C1 controls and a BOM are errors, NEL is a line end).
func staticPodValue(name, value string) (json.RawMessage, error) {
	if err := checkVariable(name, value); err != nil {
		return nil, err
	}
	if strings.ContainsFunc(value, isLostInManifest) {
		return nil, notCarriable("%s contains a control character that kubeadm cannot write into a manifest", name)
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range value {
		switch {
		case r == '$':
			b.WriteString("$$")
		case r == '"', r == '\\', r == '{', isControl(r), r > 0x7f && r <= 0xffff:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return json.RawMessage(b.String()), nil
}

func isLostInManifest(r rune) bool { return r >= 0x7f && r <= 0x9f || r == 0xfeff }
