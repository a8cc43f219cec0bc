package render

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/fairlead-io/fairlead/internal/core/proxyurl"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/noproxy"
)

// anyURL has every character that user information may have.
const anyURL = "http://me:a%40b%25%24!$basearch&'()*+,;=:-._~@[::1]:3128"

func TestAptHasTheProxiesAndTheHostsThatItCanBeTold(t *testing.T) {
	e := effective(t, "")
	e.NoProxy.Any = nil
	for _, text := range []string{"a.example", ".b.example", "10.0.0.1", "10.0.0.0/8", "c.example:80", "::1", "*", "d.example."} {
		entry, err := noproxy.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		e.NoProxy.Any = append(e.NoProxy.Any, noproxy.Item{Entry: entry})
	}
	name := `Acquire::https::Proxy "http://proxy.example:3128";
Acquire::https::Proxy::a.example "DIRECT";
`
	https := name + "Acquire::https::Proxy::10.0.0.1 \"DIRECT\";\n"
	comment := "// apt.conf has single hosts only: 6 of 8 entries of NO_PROXY are not here.\n"
	for title, test := range map[string]struct {
		change func(*resolve.Effective)
		want   string
	}{
		"both":        {func(*resolve.Effective) {}, comment + strings.ReplaceAll(https, "https", "http") + https},
		"https alone": {func(e *resolve.Effective) { e.HTTP = proxyurl.URL{} }, comment + "Acquire::http::Proxy \"DIRECT\";\n" + https},
		"all single":  {func(e *resolve.Effective) { e.HTTP, e.NoProxy.Any = proxyurl.URL{}, e.NoProxy.Any[:1] }, "Acquire::http::Proxy \"DIRECT\";\n" + name},
		"Direct":      {func(e *resolve.Effective) { *e = resolve.Effective{Mode: resolve.ModeDirect} }, ""},
	} {
		t.Run(title, func(t *testing.T) {
			e := e
			test.change(&e)
			got, err := Apt(e)
			if diff := cmp.Diff(test.want, string(got)); err != nil || diff != "" {
				t.Errorf("%v\n%s", err, diff)
			}
		})
	}
}

func TestWhatAptCannotCarryIsRefusedWithoutShowingIt(t *testing.T) {
	for _, option := range [][2]string{
		{"Acquire::http::Proxy", `S3CRET"`},
		{"Acquire::http::Proxy", "S3CRET\n"},
		{"Acquire::http::Proxy", "S3CRET\x7f"},
		{"Acquire::http::Proxy", "S3CRETé"},
		{"Acquire::http::Proxy::a b", "DIRECT"},
		{"Acquire::http::Proxy::a{", "DIRECT"},
		{`Acquire::http::Proxy::a"`, "DIRECT"},
		{"Acquire::http::Proxy::a\n", "DIRECT"},
	} {
		line, err := aptOption(option[0], option[1])
		if err == nil || line != "" || strings.Contains(err.Error(), "S3CRET") {
			t.Errorf("%q: %q (%v)", option, line, err)
		}
	}
	var p *resolve.Problem
	if _, err := Apt(effective(t, `a"b`)); !errors.As(err, &p) || p.Reason != resolve.ReasonNotCarriable || p.Object != "Cluster org-acme/mycluster" {
		t.Errorf("%v", err)
	}
}

// aptReads asks the real apt what it reads.
func aptReads(t *testing.T, file, option string) string {
	t.Helper()
	program, err := exec.LookPath("apt-config")
	if err != nil {
		without(t, "there is no apt here: apt.conf was not held against the real reader")
	}
	path := filepath.Join(t.TempDir(), "apt.conf")
	if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "dump", "--format", "%F %v%n", option)
	cmd.Env = []string{"APT_CONFIG=" + path, "PATH=/usr/bin:/bin"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s\n%s", err, out, file)
	}
	return string(out)
}

func TestAptReadsWhatWasMeant(t *testing.T) {
	e := effective(t, "a.example")
	var err error
	if e.HTTP, err = proxyurl.Parse(anyURL); err != nil {
		t.Fatal(err)
	}
	file, err := Apt(e)
	if err != nil {
		t.Fatal(err)
	}
	want := "Acquire::http \nAcquire::http::Proxy " + e.HTTP.Reveal() + "\nAcquire::http::Proxy::a.example DIRECT\n"
	if got := aptReads(t, string(file), "Acquire::http"); got != want {
		t.Errorf("apt reads\n%swant\n%s", got, want)
	}
	// Every printable character, where none of a URL's rules is in the way.
	var printable strings.Builder
	for c := byte(' '); c < 0x7f; c++ {
		if c != '"' {
			printable.WriteString(string([]byte{c}) + "%41" + string([]byte{c, c}))
		}
	}
	line, err := aptOption("Acquire::http::Proxy", "x"+printable.String()+"x")
	if err != nil {
		t.Fatal(err)
	}
	if got := aptReads(t, line+"\nAFTER \"1\";\n", "Acquire::http::Proxy"); got != "Acquire::http::Proxy x"+printable.String()+"x\n" {
		t.Errorf("apt reads\n%s\nof\n%s", got, line)
	}
}

func TestDnfHasOneProxyOrNone(t *testing.T) {
	e := effective(t, "a.example")
	got, err := Dnf(e)
	if want := "[main]\nproxy=http://proxy.example:3128\n"; err != nil || string(got) != want {
		t.Errorf("%s (%v)", got, err)
	}
	if got, err := Dnf(resolve.Effective{Mode: resolve.ModeDirect}); err != nil || len(got) > 0 {
		t.Errorf("Direct: %s (%v)", got, err)
	}
	e.HTTPS = proxyurl.URL{}
	var p *resolve.Problem
	if got, err := Dnf(e); !errors.As(err, &p) || p.Reason != resolve.ReasonNotCarriable || len(got) > 0 {
		t.Errorf("one URL alone: %s (%v)", got, err)
	}
	for _, url := range []string{"http://S3CRET\nx", "http://S3CRET x", "http://S3CRETé", `http://S3CRET\`, "http://S3CRET\x7f"} {
		if line, err := dnfOption("proxy", url); err == nil || line != "" || strings.Contains(err.Error(), "S3CRET") {
			t.Errorf("%q: %q (%v)", url, line, err)
		}
	}
}

// dnfReads reads files as dnf does, with its variables.
const dnfReads = `
import json, sys
import libdnf
read = []
for path in sys.argv[1:]:
    parser = libdnf.conf.ConfigParser()
    parser.setSubstitutions({"basearch": "EXPANDED", "releasever": "EXPANDED"})
    parser.read(path)
    read.append(parser.getSubstitutedValue("main", "proxy"))
json.dump(read, sys.stdout)
`

func TestDnfReadsWhatWasMeant(t *testing.T) {
	if err := exec.Command("/usr/bin/python3", "-c", "import libdnf").Run(); err != nil {
		without(t, "there is no libdnf here: dnf.conf was not held against the real reader")
	}
	characters := rapid.SampledFrom([]string{"!", "$", "&", "'", "(", ")", "*", "+", ",", ";", "=", ":", "%40", "%24", "a", "$basearch", "$releasever", "#", "[x]", `"`})
	dir := t.TempDir()
	arguments, want := []string{"-c", dnfReads}, []string{}
	for i := range 500 {
		url := "http://me:" + strings.Join(rapid.SliceOfN(characters, 1, 8).Example(i), "") + "@proxy.example:3128"
		line, err := dnfOption("proxy", url)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, fmt.Sprint(i))
		if err := os.WriteFile(path, []byte("[main]\n"+line+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		arguments, want = append(arguments, path), append(want, strings.ReplaceAll(url, "$", "%24"))
	}
	out, err := exec.Command("/usr/bin/python3", arguments...).Output()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
