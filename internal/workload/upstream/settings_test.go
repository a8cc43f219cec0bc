package upstream

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// Whatever stands around a password, nothing that is logged or printed shows it.
func FuzzParseSettings(f *testing.F) {
	const canary = "S3CRET"
	for i, seed := range [][2]string{
		{"", ""}, {"%zz", ""}, {"", "\nNO_PROXY=*"}, {"@other:1/", ""}, {"@", ":1/"}, {"", "@[::1]:3128#"}, {"\x00", ":"}, {" ", "%"}, {"", "\xff"},
	} {
		f.Add(seed[0], seed[1], "http://user@proxy.example:3128", uint(i))
	}
	for i, rest := range []string{"", "socks5://h:1", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", settingsText, "HTTPS_PROXY=\nNO_PROXY=\n"} {
		f.Add("", "", rest, uint(i))
	}
	f.Fuzz(func(t *testing.T, before, after, rest string, key uint) {
		files := parseLines(rest)
		if files == nil {
			files = map[string]string{CAFile: rest}
			for _, name := range Keys {
				files[name] = rest
			}
		}
		urls := []string{HTTPFile, HTTPSFile, HTTPPreviousFile, HTTPSPreviousFile}
		files[urls[key%uint(len(urls))]] = "http://user:" + before + canary + after + "@proxy.example:3128"
		s, err := Parse(files)
		if err != nil {
			s = &Settings{}
		} else {
			_, err = s.Authorities()
		}
		var shown strings.Builder
		for _, what := range []any{err, s.Warnings, s.HTTP, s.HTTPS} {
			fmt.Fprintf(&shown, "%v %+v %#v %s %q ", what, what, what, what, what)
		}
		if !strings.Contains(rest, canary) && strings.Contains(shown.String(), canary) {
			t.Fatalf("it shows the password: %s", shown.String())
		}
		for _, c := range slices.Concat(s.HTTP.Credentials, s.HTTPS.Credentials) {
			if !c.IsZero() && strings.Contains(shown.String(), c.Header()) {
				t.Fatalf("it shows the header: %s", shown.String())
			}
		}
	})
}
