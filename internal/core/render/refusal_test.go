package render

import (
	"strings"
	"testing"
)

func TestEveryPlaceRefusesWhatNoEnvironmentCarriesWithoutShowingIt(t *testing.T) {
	json := func(name, value string) (string, error) {
		text, err := staticPodValue(name, value)
		return string(text), err
	}
	for place, write := range map[string]func(string, string) (string, error){
		"drop-in": systemdAssignment, "EnvironmentFile": environmentFileAssignment, "static pod": json,
	} {
		for name, test := range map[string]struct{ value, want string }{
			"a NUL byte":              {"S3CRET\x00", "NUL"},
			"invalid UTF-8":           {"S3CRET\xff", "UTF-8"},
			"a surrogate":             {"S3CRET\xed\xa0\x80", "UTF-8"},
			"half a character":        {"S3CRET\xe2\x82", "UTF-8"},
			"U+FFFF":                  {"S3CRET\uffff", "noncharacter"},
			"U+FDD0":                  {"S3CRET\ufdd0", "noncharacter"},
			"U+1FFFE":                 {"S3CRET\U0001fffe", "noncharacter"},
			"a byte more than execve": {strings.Repeat("x", MaxNoProxyBytes+1), "131001 bytes"},
		} {
			got, err := write("NO_PROXY", test.value)
			if err == nil || got != "" {
				t.Fatalf("%s: %s: written as %.80q", place, name, got)
			}
			if !strings.Contains(err.Error(), "NO_PROXY") || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "S3CRET") {
				t.Errorf("%s: %s: refused with %q", place, name, err)
			}
		}
		if _, err := write("NO_PROXY", strings.Repeat("x", MaxNoProxyBytes)); err != nil {
			t.Errorf("%s: the longest value is refused: %v", place, err)
		}
	}
}
