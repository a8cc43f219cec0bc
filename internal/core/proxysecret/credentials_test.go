package proxysecret

import (
	"testing"
	"time"
)

func at(minute int) time.Time { return time.Date(2026, 3, 1, 8, minute, 0, 0, time.UTC) }

func TestAHistoryIsReadAsItWasWritten(t *testing.T) {
	h := History{{"key.b/+", at(5)}, {"none", at(2)}}
	if again := ParseHistory(h.String()); again.String() != h.String() || again.Now() != "key.b/+" {
		t.Errorf("%s became %s", h, again)
	}
	for _, text := range []string{"", "a", "a@", "@2026-03-01T08:05:00Z", "a@yesterday", "a@2026-03-01T08:02:00Z,b@2026-03-01T08:05:00Z", h.String() + ","} {
		if got := ParseHistory(text); got != nil || got.Now() != "" {
			t.Errorf("%q: %s", text, got)
		}
	}
}

func TestWhatACopyHasNextIsNoted(t *testing.T) {
	before := History{{"b", at(5)}, {"a", at(2)}}
	full := History{{"e", at(5)}, {"d", at(4)}, {"c", at(3)}, {"b", at(2)}, {"a", at(1)}}
	for name, row := range map[string]struct {
		h           History
		fingerprint string
		others      bool
		want        string
	}{
		"the first":            {nil, "a", false, "a@2026-03-01T08:09:00Z"},
		"another list alone":   {before, "b", false, before.String()},
		"others":               {before, "c", true, "c@2026-03-01T08:09:00Z," + before.String()},
		"another key":          {before, "k", false, "k@2026-03-01T08:05:00Z,a@2026-03-01T08:02:00Z"},
		"a fingerprint of old": {before, "b", true, "b@2026-03-01T08:09:00Z"},
		"the oldest is lost":   {full, "f", true, "f@2026-03-01T08:09:00Z," + full[:4].String()},
	} {
		if got := row.h.Next(row.fingerprint, row.others, at(9)).String(); got != row.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestAContainerHasWhatTheCopyHadWhenItStarted(t *testing.T) {
	h := History{{"b", at(5)}, {"a", at(2)}}
	for started, want := range map[time.Time]string{
		at(1): Unknown, at(2): Unknown, at(3): "a", at(5): "a", at(5).Add(Lag): "a", at(5).Add(Lag + time.Second): "b", at(9): "b",
	} {
		if got := h.At(started); got != want {
			t.Errorf("%s: %s, want %s", started, got, want)
		}
	}
}

func TestAnAccountIsTheSameForAnotherProxy(t *testing.T) {
	data := func(http, https string) map[string][]byte {
		return map[string][]byte{"HTTP_PROXY": []byte(http), "HTTPS_PROXY": []byte(https)}
	}
	if Account(data("http://u:p%40@a:1", "http://u:p%40@a:1")) != Account(data("", "http://u:p%40@b:2/")) {
		t.Error("another host is another account")
	}
	if Account(data("http://u:p@a:1", "")) == Account(data("http://u:q@a:1", "")) || Account(data("http://a:1", "http://a:1")) != "" || Account(nil) != "" {
		t.Error("another password is none, or no account is one")
	}
	if Account(data("no URL 1", "")) == Account(data("no URL 2", "")) {
		t.Error("what cannot be read is all the same")
	}
}
