package terminal

import "testing"

func TestASCIIWritesOutWhatMovesTheCursorAndKeepsQuotes(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "",
		`reapply="$(date)"`:             `reapply="$(date)"`,
		`"Corp CA", and "other"`:        `"Corp CA", and "other"`,
		`a\"`:                           `a\\"`,
		"red\x1b[31m\nline\u00f6\u200b": `red\x1b[31m\nline\u00f6\u200b`,
	} {
		if got := ASCII(text); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func TestWhatSomebodySaidIsCut(t *testing.T) {
	for text, want := range map[string]string{"short": "short", "a\x1b[2J": `a\x1b[2J`, "123456789": "12345678…"} {
		if got := Said(text, 8); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}
