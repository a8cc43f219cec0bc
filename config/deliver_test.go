package config

import (
	"encoding/base64"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/core/delivery"
)

// The policy cannot decode what it judges: it has the base64 of the fixed texts, which are written down once more there.
func TestTheDeliverysPolicyHasTheFixedTextsOfItsDocuments(t *testing.T) {
	text, err := Deliver.ReadFile("deliver/deliver_policy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, fixed := range delivery.Fixed() {
		if !strings.Contains(string(text), "'"+fixed+"'") {
			t.Errorf("the policy lacks %s", fixed)
		}
	}
	found := regexp.MustCompile(`name: printable .*\n.*"'(.*)'"`).FindSubmatch(text)
	if found == nil {
		t.Fatal("the policy has no variable printable")
	}
	printable := regexp.MustCompile("^" + string(found[1]) + "*$")
	for b := range 256 {
		for at := range 3 {
			three := []byte("aaa")
			three[at] = byte(b)
			if got := printable.MatchString(base64.StdEncoding.EncodeToString(three)); got != (b >= ' ' && b <= 0x7f) {
				t.Errorf("byte %#x at place %d: %t", b, at, got)
			}
		}
	}
	comment := delivery.Seal(nil, time.Now(), [delivery.NonceBytes]byte{0xff})
	if n := base64.StdEncoding.EncodedLen(len(comment)); n != 4*32 {
		t.Errorf("the comment has %d characters of base64", n)
	}
}
