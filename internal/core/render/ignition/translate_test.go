package ignition_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/coreos/butane/config"
	"github.com/coreos/butane/config/common"
	"github.com/google/go-cmp/cmp"
	"github.com/vincent-petithory/dataurl"
	"pgregory.net/rapid"

	"github.com/fairlead-io/fairlead/internal/core/render/ignition"
)

// pieces have a meaning of their own in YAML, in JSON or in a data URL.
var pieces = []string{
	"", " ", "  a", "\t", "\n", "\n\n", "\r", "\r\n", "%", "%0", "%41", `\`, `\n`, `\u0041`, `"`, "'", "''", "#", " # x", ": ", "- ", "? ", "---", "...", "%YAML",
	"&a", "*a", "!t", "!!binary", "|", ">", "|2-", "{", "}", "[", "]", ",", "{{ x }}", "$", "${X}", "`", "@", "~", "null", "yes", "no", "on", "true", "0o17", "0x1f",
	"017", "1e3", ".inf", "1:30", "2026-11-21", "<<", "=", "<", "&amp;", "é", "€", "😀", "\u0085", "\u00a0", "\u2028", "\u2029", "\ufeff", "\ufffd", "\x01", "\x1b[0m", "\x7f",
	"data:,x", ";base64,", "\n  x\n y", " \n", "\n ",
}

var variants = []ignition.Variant{ignition.Flatcar, ignition.FedoraCoreOS}

func text() *rapid.Generator[string] {
	piece := rapid.OneOf(rapid.String(), rapid.SampledFrom(pieces))
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(piece, 0, 6).Draw(t, "pieces"), "")
	})
}

func example(contents, comment string, list []string) ignition.Config {
	var noProxy []ignition.Text
	for _, entry := range list {
		noProxy = append(noProxy, ignition.Text(entry))
	}
	c := ignition.Config{Ignition: &ignition.Ignition{Proxy: &ignition.Proxy{HTTP: "http://proxy.example:3128", NoProxy: noProxy}}}
	c.Storage.Files = []ignition.File{{Path: "/etc/x", Mode: 0o640, Contents: ignition.Contents{Inline: ignition.Text(contents)}}}
	c.Systemd.Units = []ignition.Unit{{Name: "x.service", DropIns: []ignition.DropIn{{Name: "a.conf", Contents: "[Service]\n# " + comment + "\n"}}}}
	return c
}

// translated has the fields of an Ignition config that tests read.
type translated struct {
	Ignition struct {
		Version string
		Proxy   struct{ NoProxy []string }
	}
	Storage struct {
		Files []struct {
			Mode     int
			Contents struct{ Source, Compression string }
		}
	}
	Systemd struct {
		Units []struct {
			Dropins []struct{ Contents string }
		}
	}
}

func TestAnyTextArrivesInIgnitionAsItWasMeant(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		contents, list := text().Draw(t, "contents"), rapid.SliceOfNDistinct(text(), 1, 4, rapid.ID[string]).Draw(t, "list")
		checkArrival(t, rapid.SampledFrom(variants).Draw(t, "variant"), contents, list)
	})
}

func TestATabIsNotTakenForIndentation(t *testing.T) {
	for _, text := range []string{"\t\n", "\n\tx\n", "a\n\t\n", "x\ty\n"} {
		checkArrival(t, ignition.Flatcar, text, []string{text})
	}
}

func checkArrival(t rapid.TB, variant ignition.Variant, contents string, list []string) {
	t.Helper()
	out, err := ignition.Translate(variant, example(contents, "é", list))
	if err != nil {
		t.Fatalf("%q, %q: %v", contents, list, err)
	}
	var got translated
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	data, err := dataurl.DecodeString(got.Storage.Files[0].Contents.Source)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(contents, string(data.Data)); diff != "" {
		t.Fatalf("the file: %s", diff)
	}
	if diff := cmp.Diff(list, got.Ignition.Proxy.NoProxy); diff != "" {
		t.Fatalf("the list: %s", diff)
	}
	if got.Ignition.Version != "3.3.0" || got.Storage.Files[0].Mode != 0o640 || got.Systemd.Units[0].Dropins[0].Contents != "[Service]\n# é\n" {
		t.Fatalf("%+v", got)
	}
}

// The text is for people who merge it into a config of their own, with whatever
// version of Butane they have.
func TestTheButaneTextBecomesTheSameIgnition(t *testing.T) {
	for _, variant := range variants {
		c := example("it's\n\"100%\"\n", "x", []string{"yes", "1:30", "a: b", "{{"})
		text, err := ignition.Butane(variant, c)
		if err != nil {
			t.Fatal(err)
		}
		options := common.TranslateBytesOptions{TranslateOptions: common.TranslateOptions{NoResourceAutoCompression: true}}
		want, report, err := config.TranslateBytes(text, options)
		if err != nil || len(report.Entries) != 0 {
			t.Fatalf("%v\n%s", err, report.String())
		}
		got, err := ignition.Translate(variant, c)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want)+"\n", string(got)); diff != "" {
			t.Error(diff)
		}
		if !strings.HasPrefix(string(text), "variant: "+string(variant)+"\nversion: ") || !strings.Contains(string(text), "mode: 0640\n") {
			t.Errorf("not as people write it:\n%s", text)
		}
	}
}

// What can be compressed well would be, and differently by another version of Go.
func TestNothingIsCompressed(t *testing.T) {
	out, err := ignition.Translate(ignition.Flatcar, example(strings.Repeat("a", 100_000), "", nil))
	if err != nil {
		t.Fatal(err)
	}
	var got translated
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	if contents := got.Storage.Files[0].Contents; contents.Compression != "" || len(contents.Source) < 100_000 {
		t.Errorf("compression %q, %d bytes", contents.Compression, len(contents.Source))
	}
}

func TestARefusalSaysWhereAndRepeatsNothing(t *testing.T) {
	c := example("", "", nil)
	c.Ignition.Proxy.HTTP = "ftp://me:S3CRET@proxy.example"
	c.Systemd.Units[0].Name = "S3CRET"
	out, err := ignition.Translate(ignition.Flatcar, c)
	if err == nil {
		t.Fatalf("taken: %s", out)
	}
	for _, want := range []string{"$.ignition.proxy.http_proxy", "$.systemd.units.0.name"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q lacks %s", err, want)
		}
	}
	if strings.Contains(err.Error(), "S3CRET") || out != nil {
		t.Errorf("%q, %s", err, out)
	}
}

// Butane reads files of this machine for contents.local and storage.trees.
func TestNoConfigOfOursCanNameALocalFile(t *testing.T) {
	keys := yamlKeys(reflect.TypeFor[ignition.Config]())
	for _, key := range []string{"local", "trees"} {
		if slices.Contains(keys, key) {
			t.Errorf("there is a field for %s", key)
		}
	}
	if !slices.Contains(keys, "inline") || !slices.Contains(keys, "certificate_authorities") {
		t.Errorf("the search is blind: %s", keys)
	}
}

func yamlKeys(of reflect.Type) []string {
	switch of.Kind() {
	case reflect.Pointer, reflect.Slice:
		return yamlKeys(of.Elem())
	case reflect.Struct:
		var keys []string
		for _, field := range reflect.VisibleFields(of) {
			key, _, _ := strings.Cut(field.Tag.Get("yaml"), ",")
			keys = append(append(keys, key), yamlKeys(field.Type)...)
		}
		return keys
	}
	return nil
}
