package delivery

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"time"
)

// NonceBytes is the length of the random part of a payload.
const NonceBytes = 32

const (
	heading = "# given at "
	century = "2" // of the time behind it: with that, three divides the length
)

// Seal returns what Cluster API is given: a document below a comment. The comment changes the hash by which Cluster API sees that
// it has to apply it again, and which it publishes: without the nonce, a guessed password could be tested against that. It changes
// nothing of the object that is applied.
func Seal(document []byte, at time.Time, nonce [NonceBytes]byte) []byte {
	return append([]byte(padded(fmt.Sprintf("%s%s %x", heading, at.UTC().Format(time.RFC3339), nonce))), document...)
}

// Open takes a payload apart: the document, and when it was sealed.
func Open(payload []byte) (document []byte, at time.Time, ok bool) {
	end := max(bytes.IndexByte(payload, '\n'), 0)
	stamp, isStamp := bytes.CutPrefix(payload[:end], []byte(heading))
	when, _, isWhen := bytes.Cut(stamp, []byte(" "))
	at, err := time.Parse(time.RFC3339, string(when))
	return payload[end:], at, isStamp && isWhen && err == nil
}

// Hash returns what Cluster API's ClusterResourceSetBinding says of a Secret whose only key has this payload.
func Hash(payload []byte) string {
	return fmt.Sprintf("sha256:%x", sha256.Sum256(payload))
}

// Due returns when a payload that was sealed then is sealed again: once a period, each cluster at its own place of it.
func Due(cluster string, sealed time.Time, period time.Duration) time.Time {
	hash := sha256.Sum256([]byte(cluster))
	place := time.Duration(binary.BigEndian.Uint64(hash[:]) % uint64(period))
	due := sealed.Truncate(period).Add(place)
	if !due.After(sealed) {
		due = due.Add(period)
	}
	return due
}
