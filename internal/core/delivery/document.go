package delivery

import (
	"encoding/base64"
	"strconv"
	"strings"
)

// The fixed texts of the documents. CEL cannot decode base64, so the admission policy (config/deliver) looks for their base64:
// each text, and each variable part between two, has a length that three divides. A variable part is the value of one key of a
// block mapping, to the end of its line: the policy lets no line end into one, and so nothing in it gets out of that key. What is
// before the document is a comment, which the policy sees by its beginning: text that is none could begin a string there, in which
// the fixed text is lost.
//
// The annotation is for Helm: a release that made the Secret before would delete it with the upgrade that leaves it to others.
var (
	sourceHead = padded(`
apiVersion: v1
kind: Secret
metadata:
  name: ` + SecretName + `
  labels: {app.kubernetes.io/component: relay, fairlead.io/secret: source}
  annotations: {helm.sh/resource-policy: keep}
  namespace: `)
	sourceMiddle = padded(`
type: Opaque
data: `)
	namespaceHead = padded(`
apiVersion: v1
kind: Namespace
metadata:
  name: `)
)

// Fixed are those texts in base64, for who compares them with the policy.
func Fixed() []string {
	var all []string
	for _, text := range []string{heading + century, sourceHead, sourceMiddle, namespaceHead} {
		all = append(all, base64.StdEncoding.EncodeToString([]byte(text)))
	}
	return all
}

// padded has blanks at its end, which mean nothing there.
func padded(text string) string {
	const unit = 3 // bytes that are whole characters of base64
	return text + strings.Repeat(" ", (unit-len(text)%unit)%unit)
}

// NamespaceOf returns a Namespace with nothing but a name.
func NamespaceOf(name string) []byte { return []byte(namespaceHead + padded(strconv.Quote(name))) }
