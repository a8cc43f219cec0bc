package main

import (
	"strings"
	"testing"
	"time"
)

func TestPercentileIsTheSmallestThatSoManyDoNotExceed(t *testing.T) {
	var durations []time.Duration
	for n := 200; n > 0; n-- {
		durations = append(durations, time.Duration(n))
	}
	for p, want := range map[int]time.Duration{50: 100, 99: 198, 100: 200} {
		if got := percentile(durations, p); got != want {
			t.Errorf("p%d is %d, want %d", p, got, want)
		}
	}
	if percentile(durations[:1], 50) != 200 || percentile(nil, 99) != 0 {
		t.Error("of one it is not the one, or of none not 0")
	}
}

func TestTheTableIsAlignedMarkdown(t *testing.T) {
	var out strings.Builder
	writeTable(&out, []row{{"first fill", "12.3 s"}, {"p99", "1 ms"}})
	const want = `| figure     | value |
| ---        | --- |
| first fill | 12.3 s |
| p99        | 1 ms |
`
	if out.String() != want {
		t.Errorf("it is\n%s", out.String())
	}
}

func TestATokenIsReadOnlyWhereAllPasswordsAreTheSame(t *testing.T) {
	for text, want := range map[string]string{
		"http://u:pw-000001@p and http://u:pw-000001@p": "pw-000001",
		"pw-000001 pw-000002":                           "",
		"no proxy":                                      "",
		"cut off: pw-00":                                "",
	} {
		if got := tokenOf(map[string][]byte{"values": []byte(text)}); got != want {
			t.Errorf("%s: %q", text, got)
		}
	}
	if got := tokenOf(map[string][]byte{"proxy": []byte("pw-000001"), "ca.crt": []byte("nothing")}); got != "pw-000001" {
		t.Errorf("beside a key without password: %q", got)
	}
	if got := tokenOf(map[string][]byte{"a": []byte("pw-000001"), "b": []byte("pw-000002")}); got != "" {
		t.Errorf("keys that differ: %q", got)
	}
}
