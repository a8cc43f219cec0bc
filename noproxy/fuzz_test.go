package noproxy_test

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/fairlead-io/fairlead/noproxy"
)

var seeds = []string{
	"", " ", "*", "example.com", ".example.com", "*.example.com", "example.com.:80", "bücher.example", "ｅｘ。ample",
	"10.1.2.3", "10.1.2.3:80", "10.1.2.3/8", "::1", "[::1]:80", "fd00::/8", "::ffff:10.1.2.3/104", "fe80::1%eth0",
	"10.1.2.1-10.1.2.9", "http://u:p@h:1", "a\x00b", "a\xffb", "a b", "a,b\nc,,", "svc,127.0.0.1,localhost", "xn--a", "\u00ad.a",
}

func FuzzParse(f *testing.F) {
	for _, seed := range seeds {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, token string) {
		entry, err := noproxy.Parse(token)
		if err != nil {
			var refusal *noproxy.Refusal
			if !errors.As(err, &refusal) || refusal.Reason == "" || refusal.Detail == "" {
				t.Fatalf("%q: the error is %#v", token, err)
			}
			checkSecrecy(t, token, err)
			return
		}
		text := entry.String()
		if text == "" || strings.ContainsAny(text, ", \t\r\n@\"'%\\$") || !isPrintableASCII(text) {
			t.Fatalf("%q is written as %q", token, text)
		}
		again, err := noproxy.Parse(text)
		if err != nil || again != entry {
			t.Fatalf("%q is written as %q, which is read as %+v (%v), not %+v", token, text, again, err, entry)
		}
		if split := noproxy.Split(text); len(split) != 1 || split[0] != text {
			t.Fatalf("%q is cut into %q", text, split)
		}
		checkHost(t, token)
		noproxy.TooBroad(entry)
	})
}

// checkHost allows for the one exception: a Host comes back as a Domain.
func checkHost(t *testing.T, token string) {
	t.Helper()
	host, err := noproxy.HostEntry(token)
	if err != nil {
		return
	}
	again, err := noproxy.Parse(host.String())
	if host.Kind == noproxy.Host {
		host.Kind = noproxy.Domain
	}
	if err != nil || again != host {
		t.Fatalf("host %q is read back as %+v (%v), not %+v", token, again, err, host)
	}
}

// checkSecrecy looks for what stands before an @. A short piece may occur in
// the fixed words of the message, so it is planted between letters that do not.
func checkSecrecy(t *testing.T, token string, err error) {
	t.Helper()
	if !utf8.ValidString(err.Error()) {
		t.Fatalf("%q: the message is not UTF-8: %q", token, err)
	}
	_, planted := noproxy.Parse("Zq7" + strings.TrimSpace(token) + "Zq7@" + token)
	if planted == nil || strings.Contains(planted.Error(), "Zq7") {
		t.Fatalf("%q: shown or accepted: %v", token, planted)
	}
}

func isPrintableASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r <= 0x20 || r >= 0x7f })
}

func FuzzSplitMerge(f *testing.F) {
	for _, seed := range seeds {
		f.Add(seed, "example.com,10.0.0.0/8")
	}
	f.Fuzz(func(t *testing.T, first, second string) {
		a, b := readable(t, first), readable(t, second)
		merged := noproxy.Merge(a, b)
		text := merged.String()
		if text != noproxy.Merge(merged, a, b, merged).String() {
			t.Fatalf("%q changes when it is merged again", text)
		}
		if again := readable(t, text); again.String() != text || len(again) != len(merged) {
			t.Fatalf("%q is read back as %q", text, again)
		}
		seen := map[string]bool{}
		for _, element := range strings.Split(text, ",") {
			if seen[element] || element == "" && len(merged) > 0 {
				t.Fatalf("%q holds %q twice, or an empty element", text, element)
			}
			seen[element] = true
		}
		for _, item := range append(a, b...) {
			if !seen[item.Entry.String()] {
				t.Fatalf("%q lost %q", text, item.Entry)
			}
		}
	})
}

// readable returns the entries of a list that are not refused.
func readable(t *testing.T, text string) noproxy.List {
	t.Helper()
	var items noproxy.List
	for _, token := range noproxy.Split(text) {
		if strings.TrimSpace(token) != token || token == "" {
			t.Fatalf("Split left %q", token)
		}
		if entry, err := noproxy.Parse(token); err == nil {
			items = append(items, noproxy.Item{Entry: entry})
		}
	}
	return items
}
