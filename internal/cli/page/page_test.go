package page_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/fairlead-io/fairlead/internal/cli/page"
)

// A browser compares the hash of the element's content with the one in the policy. With one blank more, the page stays
// blank.
func TestThePolicyAllowsWhatThePageIsWrittenWithAndNothingElse(t *testing.T) {
	const script = "'use strict'\nfor (const a of [1, 2]) if (a < 2 && \"</b>\") console.log(`${a}`)\n"
	var out bytes.Buffer
	p := page.New("fairlead test", "b > i { color: red }\n", script, "<p>{{.}}</p>", nil)
	if err := p.Write(&out, "a <title>", "</p><script>alert(1)</script>"); err != nil {
		t.Fatal(err)
	}
	tree, err := html.Parse(&out)
	if err != nil {
		t.Fatal(err)
	}
	policy, scripts := "", 0
	for node := range tree.Descendants() {
		switch {
		case node.Data == "meta" && len(node.Attr) > 1 && node.Attr[0].Val == "Content-Security-Policy":
			policy = node.Attr[1].Val
			for _, want := range []string{"default-src 'none'; ", "base-uri 'none'; ", "form-action 'none'; "} {
				if !strings.Contains(policy, want) {
					t.Errorf("%s lacks %s", policy, want)
				}
			}
		case node.Data == "script" || node.Data == "style":
			scripts++
			sum := sha256.Sum256([]byte(node.FirstChild.Data))
			if want := node.Data + "-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"; !strings.Contains(policy, want) {
				t.Errorf("%s lacks %s", policy, want)
			}
		}
	}
	if policy == "" || scripts != 2 || strings.Contains(policy, "unsafe") {
		t.Errorf("%d scripts and styles under %q", scripts, policy)
	}
}
