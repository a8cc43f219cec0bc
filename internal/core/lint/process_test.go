package lint_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/core/lint"
)

// said are the findings of a reader of variables, each a line.
func readerText(r lint.Reader) string {
	var lines []string
	for _, f := range lint.Run(r.Input) {
		lines = append(lines, string(f.Code)+" "+f.Why)
	}
	return strings.Join(lines, "\n")
}

func TestWhatAProcessHasIsReadAsItsProgramReadsIt(t *testing.T) {
	for name, test := range map[string]struct {
		environ   string
		list      string // that was looked at
		says, not []string
	}{
		"an empty one in capitals": {"NO_PROXY=\nno_proxy=.svc", ".svc", []string{"NO_PROXY is empty: Go and most others take no_proxy"}, []string{"in capitals"}},
		"an empty other one":       {"NO_PROXY=.svc\nno_proxy=", ".svc", []string{"no_proxy is empty: Go takes NO_PROXY"}, []string{"in capitals"}},
		"two values":               {"NO_PROXY=.svc\nno_proxy=a.example", ".svc", []string{"Go takes the one in capitals"}, nil},
		"twice":                    {"NO_PROXY=a.example\x00NO_PROXY=b.example\x00", "a.example", []string{"Spellings it is there more than once: Go and the C library take the first"}, nil},
		"twice the same":           {"NO_PROXY=a.example\nNO_PROXY=a.example\nPATH=a\nPATH=b", "a.example", nil, []string{"Spellings"}},
		"no proxy":                 {"NO_PROXY=com", "com", []string{"nothing goes through a proxy", "TooBroad"}, nil},
		"ALL_PROXY alone":          {"all_proxy=http://p:1\nPATH=/", "", []string{"only what reads ALL_PROXY (Go does not) uses a proxy", "EmptyList"}, []string{"nothing goes"}},
		"containerd's alone": {
			"CONTAINERD_HTTPS_PROXY=http://p:1\nNO_PROXY=.svc", ".svc", []string{"only containerd (CONTAINERD_HTTPS_PROXY) uses a proxy"}, []string{"nothing goes"},
		},
	} {
		readers := lint.Process(test.environ)
		text := readerText(readers[0])
		for _, part := range test.says {
			if !strings.Contains(text, part) {
				t.Errorf("%s: no %q in\n%s", name, part, text)
			}
		}
		if slices.ContainsFunc(test.not, func(part string) bool { return strings.Contains(text, part) }) || readers[0].Any != test.list {
			t.Errorf("%s: list %s, and\n%s", name, readers[0].Any, text)
		}
	}
}

// k3s, RKE2 and k0s give their containerd what has its prefix, and everything else as they have it.
func TestContainerdsOwnVariablesAreLookedAtAsItsOwn(t *testing.T) {
	readers := lint.Process("CONTAINERD_HTTPS_PROXY=http://p.example:1\nHTTP_PROXY=http://q.example:1\nNO_PROXY=a.example\nCONTAINERD_NO_PROXY=com\n")
	if len(readers) != 2 || readers[0].Any != "a.example" || readers[1].Any != "com" {
		t.Fatalf("%+v", readers)
	}
	child := readers[1]
	if child.HTTP.String() != "http://q.example:1" || child.HTTPS.String() != "http://p.example:1" || !strings.Contains(readerText(child), "TooBroad") {
		t.Errorf("%s %s\n%s", child.HTTP, child.HTTPS, readerText(child))
	}
	if entry := child.Entries[0].Sources[0].Field; entry != "CONTAINERD_NO_PROXY[0]" {
		t.Errorf("the entry is of %s", entry)
	}
}
