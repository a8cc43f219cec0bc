package noproxy_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/fairlead-io/fairlead/noproxy"
)

// Positions count commas, and line ends where no comma stands, as a reader does.
func TestPositionsCountCommasAndLines(t *testing.T) {
	for name, test := range map[string]struct {
		list string
		want []string // by position
	}{
		"commas":                     {"a,b", []string{"a", "b"}},
		"an empty element":           {"a,,b,", []string{"a", "", "b", ""}},
		"a comma at the line's end":  {"a,\n  b,\r\n  c\n", []string{"a", "b", "c"}},
		"a comma at the line's head": {"a\n,b", []string{"a", "b"}},
		"lines":                      {"\na\n\n b\r\nc\n", []string{"a", "b", "c"}},
		"a blank inside":             {" a b ,c", []string{"a b", "c"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, e := range noproxy.Cut(test.list, noproxy.Source{}) {
				got = append(got, e.Text)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	if at := noproxy.Cut("a,,b", noproxy.Source{Object: "o", Field: "f"})[2].Source; at != (noproxy.Source{Object: "o", Field: "f[2]"}) {
		t.Error(at)
	}
}

func TestElementsCoverTheListInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.StringOf(rapid.SampledFrom([]rune("ab ,\n\r\té\u0085"))).Draw(t, "list")
		end := 0
		for i, e := range noproxy.Cut(list, noproxy.Source{}) {
			between := list[min(end, e.Start):e.Start]
			if between != "" && between != "," || e.Start < end || strings.TrimSpace(list[e.Start:e.End]) != e.Text {
				t.Fatalf("%q: element %d is %+v", list, i, e)
			}
			end = e.End
		}
		if end != len(list) {
			t.Fatalf("%q ends at %d", list, end)
		}
	})
}

func TestUserInformationIsRecognized(t *testing.T) {
	for text, want := range map[string]bool{
		"http://me:S3CRET@p:1": true, "me:S3CRET@p": true, "x@p": true, "http://me:S3": true, "https://me:12x": true, "http://me:": true,
		"http://p:3128": false, "http://p:3128/": false, "http://[::1]:3128": false, "http://p": false, "p:80": false, "[::1]:80": false, "a:b": false,
	} {
		if got := noproxy.HasUserinfo(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestWhatMayBeAPasswordIsNotShown(t *testing.T) {
	for text, want := range map[string]string{
		"http://me:S3CRET@proxy.example:3128": "***@proxy.example:3128",
		"http://me:S3":                        "http://me:***",
		"CRET@proxy.example":                  "***@proxy.example",
		"example.com:8080":                    "example.com:8080",
	} {
		if got := noproxy.Redacted(text); got != want {
			t.Errorf("%q is shown as %q", text, got)
		}
	}
	if got := noproxy.Shown("http://me:S3,CRET,x@p", "CRET"); got != noproxy.Hidden {
		t.Error(got)
	}
	if got := noproxy.Shown("a,b", "b"); got != "b" {
		t.Error(got)
	}
}
