package manifest

import (
	"bytes"
	"testing"
)

func TestAStreamIsCutIntoItsDocuments(t *testing.T) {
	for name, c := range map[string]struct {
		stream string
		want   []string
	}{
		"nothing":           {"", []string{""}},
		"one":               {"a: 1\n", []string{"a: 1\n"}},
		"separators":        {"a: 1\n--- # two\nb: 2\n---\n", []string{"a: 1\n", "--- # two\nb: 2\n", "---\n"}},
		"CRLF":              {"---\r\na: 1\r\n---\r\nb: 2", []string{"---\r\na: 1\r\n", "---\r\nb: 2"}},
		"a certificate":     {"a: |\n  -----BEGIN\n-----x: 1\n", []string{"a: |\n  -----BEGIN\n-----x: 1\n"}},
		"JSON side by side": {`{"a":1} {"b":2}` + "\n", []string{`{"a":1}`, ` {"b":2}` + "\n"}},
		"brackets of YAML":  {"{a: 1}\n", []string{"{a: 1}\n"}},
	} {
		got := Split([]byte(c.stream))
		if !bytes.Equal(bytes.Join(got, []byte("|")), bytes.Join(toBytes(c.want), []byte("|"))) {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

func toBytes(texts []string) [][]byte {
	var all [][]byte
	for _, text := range texts {
		all = append(all, []byte(text))
	}
	return all
}

func FuzzTheDocumentsOfAStreamAreTheStream(f *testing.F) {
	for _, seed := range []string{"", "---", "a\n---\nb", "{}{}", "{} x", "---\r\n{\"a\":1}\n{}"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		if got := bytes.Join(Split(stream), nil); !bytes.Equal(got, stream) {
			t.Errorf("%q became %q", stream, got)
		}
	})
}

// Whatever the text is: what comes out says what it was to say, or there is an error.
func FuzzAnEditSaysWhatItWasToSay(f *testing.F) {
	for _, seed := range []string{"a: 1", "a: [1, {b: c}]", "? a\n: b", "a: &x 1\nb: *x", "- - a\n  - b", "a: |+\n  x\n\n", "{\"a\":[]}", "<<: {a: 1}\nb: 2", "a:\n\t- b", "a: \u0085b"} {
		f.Add([]byte(seed), int64(1))
	}
	f.Fuzz(func(t *testing.T, text []byte, seed int64) {
		have, err := Parse(text)
		if _, isMap := have.(map[string]any); err != nil || !isMap || len(Split(text)) > 1 {
			return // it is not one document, which is what Edit is for
		}
		want := newWriter(seed).changed(have, false)
		edited, err := Edit(text, want)
		if err != nil {
			return
		}
		if got, err := Parse(edited); err != nil || !equal(got, want) {
			t.Errorf("%q became %q, which says %v and not %v (%v)", text, edited, got, want, err)
		}
	})
}
