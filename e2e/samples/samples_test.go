package samples

import (
	"net/url"
	"testing"
)

func TestTheSamplesHoldEnoughOfEverything(t *testing.T) {
	counts := map[string]int{}
	for i, s := range All(t) {
		for class := range s.classes {
			counts[class]++
		}
		if s.Username == "" {
			continue
		}
		parsed, err := url.Parse(s.Effective.HTTP.Reveal())
		if err != nil {
			t.Fatalf("sample %d: %v", i, err)
		}
		if password, _ := parsed.User.Password(); parsed.User.Username() != s.Username || password != s.Password {
			t.Errorf("sample %d: the URL says %q, %q, and %q, %q is meant", i, parsed.User.Username(), password, s.Username, s.Password)
		}
	}
	for _, class := range classes {
		if counts[class.name] < 50 {
			t.Errorf("%d samples have %s, at least 50 are needed", counts[class.name], class.name)
		}
	}
	if Count < 1000 {
		t.Errorf("%d samples", Count)
	}
}
