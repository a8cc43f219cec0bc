package render_test

import (
	"bytes"
	"testing"
	"unicode"

	yamlv2 "go.yaml.in/yaml/v2"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"
)

// Values takes the shorter way. An upgrade is not to change a byte. (Of control characters, which no URL and no entry has,
// the long way refuses some and loses others.)
func TestYAMLOfTextsIsTheSameWithoutTheWayOverJSON(t *testing.T) {
	text := rapid.StringOf(rapid.RuneFrom([]rune(" \n\t\"\\#:,%{[*&!|>'@`$"), unicode.L, unicode.M, unicode.N, unicode.P, unicode.S))
	rapid.Check(t, func(t *rapid.T) {
		of := map[string]any{"a": map[string]any{"b": map[string]string{"c": text.Draw(t, "c")}}, "d": text.Draw(t, "d")}
		short, err := yamlv2.Marshal(of)
		long, err2 := yaml.Marshal(of)
		if err != nil || err2 != nil || !bytes.Equal(short, long) {
			t.Fatalf("%s%v\n%s%v", short, err, long, err2)
		}
	})
}
