package apply

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// KeyBytes is the length of the key of the write memory.
const KeyBytes = 32

// Fingerprint returns a keyed hash of everything that would be sent for the object.
// It lets the operator remember what it wrote without being able to read it,
// and tells a reader of the report nothing: without the key, a guessed password
// cannot be tested against it.
func Fingerprint(key []byte, object client.Object) string {
	text, _ := json.Marshal(object) // map keys are sorted; these objects never fail to encode
	return sum(key, append(text, '\n'))
}

// Digest returns a keyed hash of a text. It names the key, so that digests by
// different keys are not compared; see SameKey.
func Digest(key, text []byte) string {
	return sum(key, nil)[:keyDigits] + "." + sum(key, text)
}

// SameKey reports whether two digests can be compared.
func SameKey(a, b string) bool {
	return len(a) > keyDigits && len(b) > keyDigits && a[:keyDigits+1] == b[:keyDigits+1]
}

const keyDigits = 8 // of base64, 48 bits: a key is not to be found, only told from another

func sum(key, text []byte) string {
	mac := hmac.New(sha256.New, key)
	_, _ = mac.Write(text) // a hash never fails
	return base64.RawStdEncoding.EncodeToString(mac.Sum(nil))
}
