package render_test

import (
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/internal/core/probe"
	"github.com/fairlead-io/fairlead/internal/core/proxyurl"
	"github.com/fairlead-io/fairlead/internal/core/render"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
)

func wantValues(http, https, noProxy string) map[string]any {
	return map[string]any{
		"cluster":    map[string]any{"proxy": map[string]any{"http": http, "https": https, "noProxy": noProxy}},
		"http_proxy": http, "https_proxy": https, "no_proxy": noProxy,
	}
}

func readValues(tb interface {
	Helper()
	Fatal(...any)
}, e resolve.Effective,
) map[string]any {
	tb.Helper()
	text, err := render.Values(e)
	if err != nil {
		tb.Fatal(err)
	}
	var got map[string]any
	if err := yaml.UnmarshalStrict(text, &got); err != nil {
		tb.Fatal(err)
	}
	return got
}

func TestTheValuesOfThePublishedExample(t *testing.T) {
	text, err := render.Values(example(t))
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "example-values.yaml", text)
}

func TestEveryKeyOfTheValuesIsAlwaysThere(t *testing.T) {
	for name, test := range map[string]struct {
		effective resolve.Effective
		want      map[string]any
	}{
		"both URLs":   {example(t), wantValues(exampleURL, exampleURL, exampleList)},
		"http alone":  {example(t, func(e *resolve.Effective) { e.HTTPS = proxyurl.URL{} }), wantValues(exampleURL, "", exampleList)},
		"https alone": {example(t, func(e *resolve.Effective) { e.HTTP = proxyurl.URL{} }), wantValues("", exampleURL, exampleList)},
		"Direct":      {blank(resolve.ModeDirect), wantValues("", "", "")},
		"Unproxied":   {blank(resolve.ModeUnproxied), wantValues("", "", "")},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, readValues(t, test.effective)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A chart that knows no previous credentials gets the values that it has always had.
func TestTheCredentialsOfBeforeAreInTheValuesOnlyWhereThereAreSome(t *testing.T) {
	want := wantValues(exampleURL, exampleURL, exampleList)
	want["cluster"].(map[string]any)["proxy"].(map[string]any)["previous"] = map[string]any{"http": "", "https": "http://former:a$b@192.168.52.220:3128"}
	e := example(t, func(e *resolve.Effective) { e.Previous.HTTPS = url(t, "http://former:a$b@192.168.52.220:3128") })
	if diff := cmp.Diff(want, readValues(t, e)); diff != "" {
		t.Error(diff)
	}
	e.Form = resolve.FormPortable2
	if text, err := render.Values(e); err != nil || !strings.Contains(string(text), "https: http://former:a%24b@192.168.52.220:3128\n") {
		t.Errorf("%s (%v)", text, err)
	}
}

// Who merges them over what a release has would keep a password that the proxy refuses.
func TestWithDeliveryRelayTheCredentialsOfBeforeGoWhenThereAreNone(t *testing.T) {
	want := wantValues(exampleURL, exampleURL, exampleList)
	want["cluster"].(map[string]any)["proxy"].(map[string]any)["previous"] = map[string]any{"http": "", "https": ""}
	e := example(t, func(e *resolve.Effective) { e.Node.Delivery = resolve.DeliveryRelay })
	for _, form := range []resolve.Form{e.Form, resolve.FormPortable2} {
		e.Form = form
		if diff := cmp.Diff(want, readValues(t, e)); diff != "" {
			t.Error(diff)
		}
	}
}

// writable removes what the YAML library does not quote although it reads it
// otherwise: DEL, NEL, C1 controls. No list and no URL has them: both are
// printable ASCII once they are parsed (FuzzParse, FuzzParseURL).
func writable(r rune) rune {
	if unicode.IsPrint(r) || strings.ContainsRune("\n\r\t\x01\x1b", r) {
		return r
	}
	return -1
}

// No entry of a parsed list can be as bad as these; the quoting must not depend
// on that.
func TestTheValuesAreReadBackAsTheStringsTheyWere(t *testing.T) {
	piece := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{
		"*.x", "#", " #", ": ", ":", "- ", "'", `"`, " ", "{{ .x }}", "{% x %}", "é", "😀", "\n", "\r\n", "\t",
		"yes", "no", "null", "~", "0x1f", "012", "1e3", "1:20:30", "2026-11-21", "<<", "=", "!!binary", "&a", "*a", "|", ">", "%", "@", "`", "\x01", "\x1b", `\n`,
	}))
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Map(writable, strings.Join(rapid.SliceOfN(piece, 1, 5).Draw(t, "pieces"), ""))
		password := rapid.StringOf(rapid.RuneFrom([]rune("!$&'()*+,;=:-._~%aZ09 #{}\"\\"))).Draw(t, "password")
		base, _ := proxyurl.Parse("http://proxy.example:3128")
		u, err := base.WithCredentials("me", password)
		if err != nil {
			t.Fatal(err)
		}
		e := resolve.Effective{HTTP: u, NoProxy: lists(text, "b")}
		if diff := cmp.Diff(wantValues(u.Reveal(), "", text+",b"), readValues(t, e)); diff != "" {
			t.Fatal(diff)
		}
	})
}

// What a cluster has stays byte for byte; a new one has values that charts can take into variables of pods.
func TestADollarIsEncodedInTheValuesFromPortable2On(t *testing.T) {
	const written, encoded = "http://me:a$$b$(HOME)@proxy.example:3128", "http://me:a%24%24b%24(HOME)@proxy.example:3128"
	for form, want := range map[resolve.Form]string{resolve.FormExact: written, resolve.FormPortable: written, resolve.FormPortable2: encoded, resolve.FormPortable3: encoded} {
		e := example(t, func(e *resolve.Effective) { e.Form, e.HTTP, e.HTTPS = form, url(t, written), url(t, written) })
		if diff := cmp.Diff(wantValues(want, want, exampleList), readValues(t, e)); diff != "" {
			t.Errorf("%s: %s", form, diff)
		}
	}
}

func TestADollarIsWhatItWasForMachines(t *testing.T) {
	told := func(form resolve.Form) (string, string) {
		e := example(t, func(e *resolve.Effective) { e.Form, e.HTTP = form, url(t, "http://me:a$$b$(HOME)@proxy.example:3128") })
		meaning, err := render.Meaning(e)
		if err != nil {
			t.Fatal(err)
		}
		secrets, err := render.Secrets(e)
		if err != nil {
			t.Fatal(err)
		}
		return string(meaning), string(secrets[1].Data[render.ContainerdKey]) + string(secrets[1].Data[render.KubeletKey])
	}
	before, dropIns := told(resolve.FormPortable)
	if after, now := told(resolve.FormPortable2); after != before || now != dropIns || !strings.Contains(dropIns, "a$$b$(HOME)@") {
		t.Errorf("%s\n%s\nwas\n%s\n%s", after, now, before, dropIns)
	}
}

// A chart that knows no probes gets the values that it has always had. See TestEveryKeyOfTheValuesIsAlwaysThere for the rest.
func TestProbesAreInTheValuesOnlyWhereTheyAreAskedFor(t *testing.T) {
	with := func(p *resolve.Probed) string {
		text, err := render.Values(example(t, func(e *resolve.Effective) { e.Probed = p }))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	without := with(nil)
	for name, test := range map[string]struct {
		probed resolve.Probed
		want   string
	}{
		"nothing to reach": {resolve.Probed{}, "cluster:\n  probes:\n    targets: []\n  proxy:\n"},
		"targets and fingerprints": {
			resolve.Probed{
				Targets:     []probe.Target{{URL: "https://a.example", Expect: probe.Reachable, Route: probe.Direct}, {URL: "tcp://b.example:22", Expect: probe.Unreachable}},
				Credentials: resolve.Fingerprints{Current: "now", Previous: "before"}, Revision: "corp/7/0123",
			},
			"cluster:\n  probes:\n    credentials:\n      current: now\n      previous: before\n    revision: corp/7/0123\n    targets:\n    - expect: Reachable\n      route: Direct\n" +
				"      url: https://a.example\n    - expect: Unreachable\n      url: tcp://b.example:22\n  proxy:\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got, want := with(&test.probed), strings.Replace(without, "cluster:\n  proxy:\n", test.want, 1); got != want {
				t.Error(cmp.Diff(want, got))
			}
		})
	}
}

func TestProbesAreNothingThatAMachineIsTold(t *testing.T) {
	before, err := render.Meaning(example(t))
	if err != nil {
		t.Fatal(err)
	}
	after, err := render.Meaning(example(t, func(e *resolve.Effective) {
		e.Probed = &resolve.Probed{Targets: []probe.Target{{URL: "https://a.example", Expect: probe.Reachable}}}
	}))
	if err != nil || string(before) != string(after) {
		t.Errorf("%s (%v), and was %s", after, err, before)
	}
}
