package probe

import (
	"strings"
	"testing"
)

func TestAListOfTargetsIsReadOrSaysWhichOneIsWrongAndWhy(t *testing.T) {
	got, err := ParseTargets([]byte("- {url: \"https://registry.example/v2/\", expect: Reachable}\n- {url: \"tcp://[2001:db8::1]:22\", expect: Unreachable, route: Direct}\n"))
	if err != nil || len(got) != 2 || got[1] != (Target{"tcp://[2001:db8::1]:22", Unreachable, Direct}) {
		t.Fatal(got, err)
	}
	for text, want := range map[string]string{
		`[{url: "https://a.example"}]`:                                                                   "target 1: expect: it is Reachable or Unreachable",
		`[{url: "https://a.example", expect: Reachable, route: Around}]`:                                 "target 1: route:",
		`[{url: "ftp://a.example", expect: Reachable}]`:                                                  "target 1: url: it begins with none of",
		`[{url: "tcp://a.example", expect: Reachable}]`:                                                  "target 1: url: it has no port",
		`[{url: "tcp://a.example:1/x", expect: Reachable}]`:                                              "target 1: url: it has something behind the port",
		`[{url: "https://user:S3CRET@a.example", expect: Reachable}]`:                                    "target 1: url: it has a user or a password",
		`[{url: "https://user:S3CRET@a.exa mple:x", expect: Reachable}]`:                                 "target 1: url: it cannot be read",
		`[{url: "https://a_b c.example", expect: Reachable}]`:                                            "target 1: url: ",
		`[{url: "https://a.example:70000", expect: Reachable}]`:                                          "target 1: url: its port",
		`[{url: "https://a.example:0", expect: Reachable}]`:                                              "target 1: url: its port",
		`[{url: "https://", expect: Reachable}]`:                                                         "target 1: url: its host",
		`[{url: "https://a.example", expect: Reachable}, {url: "https://a.example", expect: Reachable}]`: "target 2: url: it is that of target 1, too",
		`[{url: "https://` + strings.Repeat("a", 600) + `", expect: Reachable}]`:                         "target 1: url: it is longer than 512",
		`[{address: "https://a.example"}]`:                                                               "address",
		`{}`:                                                                                             "it is not a list",
		`probe: {targets: [{url: "https://a.example", expect: Reachable}]}`:                              "the list alone, without probe.targets",
		`[{url: "https://a.example", expect: Proxied}]`:                                                  "target 1: expect: it is Reachable or Unreachable; the way is route: Proxied",
		"[" + strings.Repeat(`{url: "https://a.example", expect: Reachable},`, MaxTargets+1) + "]":       "at most 128",
	} {
		if _, err := ParseTargets([]byte(text)); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "S3CRET") {
			t.Errorf("%.80s: %v", text, err)
		}
	}
}

func TestADestinationHasAPortAndAPath(t *testing.T) {
	for url, want := range map[string]Destination{
		"https://a.example":         {"https", "a.example", "443", "/"},
		"http://a.example/x?y=z":    {"http", "a.example", "80", "/x?y=z"},
		"https://[2001:db8::1]:444": {"https", "2001:db8::1", "444", "/"},
	} {
		if got, err := ParseURL(url); err != nil || got != want {
			t.Errorf("%s: %+v, %v", url, got, err)
		}
	}
}
