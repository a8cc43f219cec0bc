package render

import (
	"errors"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/core/proxyurl"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/noproxy"
)

// javaList has an entry of every kind that Java can be told, and one that it cannot.
func javaList(t *testing.T) noproxy.List {
	t.Helper()
	var list noproxy.List
	for _, text := range []string{"a.example", ".b.example", "c.example.", "10.0.0.1", "172.16.0.0/16", "fd00::1", "10.0.0.0/13"} {
		entry, err := noproxy.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, noproxy.Item{Entry: entry})
	}
	return list
}

func TestAJVMReadsThePropertiesThatWereMeant(t *testing.T) {
	java, err := exec.LookPath("java")
	if err != nil {
		without(t, "there is no Java here: JAVA_TOOL_OPTIONS was not held against a JVM")
	}
	e := effective(t, "")
	e.NoProxy.Any = javaList(t)
	if e.HTTPS, err = proxyurl.Parse("http://me:S3CRET@[fd00::2]:8080"); err != nil {
		t.Fatal(err)
	}
	text, err := JavaToolOptions(e, noproxy.AudienceAny)
	if err != nil || strings.Count(string(text), "\n") != 1 || strings.Contains(string(text), "S3CRET") {
		t.Fatalf("%s (%v)", text, err)
	}
	cmd := exec.Command(java, "-XshowSettings:properties", "-version")
	cmd.Env = []string{"PATH=/usr/bin:/bin", "JAVA_TOOL_OPTIONS=" + strings.TrimSuffix(string(text), "\n")}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	got := map[string]string{}
	for _, line := range strings.Split(string(out), "\n") {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), " = "); ok && (strings.Contains(name, ".proxy") || strings.HasSuffix(name, "ProxyHosts")) {
			got[name] = value
		}
	}
	want := map[string]string{
		"http.proxyHost": "proxy.example", "http.proxyPort": "3128", "https.proxyHost": "fd00::2", "https.proxyPort": "8080",
		"http.nonProxyHosts": "a.example|*.a.example|*.b.example|c.example.|*.c.example.|10.0.0.1|172.16.*|[fd00::1]|[fd00:0:0:0:0:0:0:1]",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestWhatAJVMCannotBeToldIsRefusedOrLeftOut(t *testing.T) {
	e := effective(t, "a b")
	var p *resolve.Problem
	if text, err := JavaToolOptions(e, noproxy.AudienceAny); !errors.As(err, &p) || p.Reason != resolve.ReasonNotCarriable || len(text) > 0 {
		t.Errorf("a blank: %s (%v)", text, err)
	}
	e = effective(t, "")
	e.NoProxy.Any = javaList(t)[6:]
	if text, err := JavaToolOptions(e, noproxy.AudienceAny); err != nil || strings.Contains(string(text), "nonProxyHosts") {
		t.Errorf("an empty http.nonProxyHosts would take Java's own away: %s (%v)", text, err)
	}
	e.HTTPS = proxyurl.URL{}
	if text, err := JavaToolOptions(e, noproxy.AudienceAny); err != nil || strings.Contains(string(text), "https.") {
		t.Errorf("one URL alone: %s (%v)", text, err)
	}
	var err error
	if e.HTTP, err = proxyurl.Parse("https://me:S3CRET@proxy.example:3128"); err != nil {
		t.Fatal(err)
	}
	if text, err := JavaToolOptions(e, noproxy.AudienceAny); !errors.As(err, &p) || strings.Contains(err.Error(), "S3CRET") || len(text) > 0 {
		t.Errorf("https: %s (%v)", text, err)
	}
	if text, err := JavaToolOptions(resolve.Effective{Mode: resolve.ModeDirect}, noproxy.AudienceAny); err != nil || len(text) > 0 {
		t.Errorf("Direct: %s (%v)", text, err)
	}
}
