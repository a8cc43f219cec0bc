package proxyurl_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/internal/core/proxyurl"
)

// Both are long and odd enough not to occur by chance, and change when they are
// percent-encoded.
const (
	secretUser     = "u5er#N4me"
	secretPassword = "pa$$W0rd/%n"
)

func secretURL(tb testing.TB) proxyurl.URL {
	tb.Helper()
	u, err := mustParse(tb, "http://proxy.example:3128").WithCredentials(secretUser, secretPassword)
	if err != nil {
		tb.Fatal(err)
	}
	return u
}

// leaks lists the forms in which a text shows either credential: raw, percent-
// encoded, escaped by JSON, in hexadecimal, or in base64 at any offset.
func leaks(text string) []string {
	var found []string
	for _, secret := range []string{secretUser, secretPassword} {
		forms := map[string]string{
			"raw":           secret,
			"encoded":       strings.ReplaceAll(url.QueryEscape(secret), "+", "%20"),
			"half":          secret[:5],
			"hexadecimal":   hex.EncodeToString([]byte(secret)),
			"HEXADECIMAL":   strings.ToUpper(hex.EncodeToString([]byte(secret))),
			"decimal bytes": strings.Trim(fmt.Sprintf("%d", []byte(secret)), "[]"),
			"Go bytes":      strings.TrimSuffix(strings.TrimPrefix(fmt.Sprintf("%#v", []byte(secret)), "[]byte{"), "}"),
		}
		for offset := range 3 {
			// Without the characters that depend on what stands around it.
			encoded := base64.RawStdEncoding.EncodeToString([]byte(strings.Repeat("x", offset) + secret))
			forms[fmt.Sprint("base64 at ", offset)] = encoded[(offset*8+5)/6 : len(encoded)-1]
		}
		for name, form := range forms {
			if strings.Contains(text, form) {
				found = append(found, name)
			}
		}
	}
	return found
}

// If the search were blind, every test below would pass.
func TestTheSearchForCredentialsFindsThem(t *testing.T) {
	revealed := secretURL(t).Reveal()
	plain := struct{ User, Password string }{secretUser, secretPassword}
	raw := "http://" + secretUser + ":" + secretPassword + "@proxy.example:3128"
	asJSON, err := json.Marshal(plain)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"revealed":           revealed,
		"raw":                raw,
		"printed":            fmt.Sprintf("%+v", plain),
		"as Go":              fmt.Sprintf("%#v", plain),
		"as JSON":            string(asJSON),
		"hexadecimal":        fmt.Sprintf("%x", raw),
		"HEXADECIMAL":        fmt.Sprintf("%X", raw),
		"bytes":              fmt.Sprintf("%d", []byte(raw)),
		"bytes as Go":        fmt.Sprintf("%#v", []byte(raw)),
		"base64":             base64.StdEncoding.EncodeToString([]byte(raw)),
		"base64 one later":   base64.StdEncoding.EncodeToString([]byte("x" + raw)),
		"base64 two later":   base64.StdEncoding.EncodeToString([]byte("xx" + raw)),
		"base64 by itself":   base64.StdEncoding.EncodeToString([]byte(secretPassword)),
		"basic":              base64.StdEncoding.EncodeToString([]byte(secretUser + ":" + secretPassword)),
		"the password's end": base64.StdEncoding.EncodeToString([]byte("data: " + secretPassword)),
	} {
		if len(leaks(text)) == 0 {
			t.Errorf("%s: nothing found in %q", name, text)
		}
	}
	if found := leaks("http://***@proxy.example:3128 0xc000123456"); len(found) > 0 {
		t.Errorf("finds %v where there is nothing", found)
	}
}

// holders returns the ways in which a URL gets into somebody's print statement. fmt
// calls no methods of a value in an unexported field, it reads the memory.
func holders(u proxyurl.URL) map[string]any {
	type exported struct{ HTTP, HTTPS proxyurl.URL }
	type unexported struct{ http, https proxyurl.URL }
	type pointers struct {
		Exported   *proxyurl.URL
		unexported *proxyurl.URL
	}
	type deep struct {
		inner  unexported
		list   []proxyurl.URL
		byName map[string]proxyurl.URL
		byURL  map[proxyurl.URL]string
		any    any
		array  [1]unexported
	}
	d := deep{
		unexported{u, u},
		[]proxyurl.URL{u},
		map[string]proxyurl.URL{"http": u},
		map[proxyurl.URL]string{u: "http"},
		u,
		[1]unexported{{http: u}},
	}
	return map[string]any{
		"itself": u, "pointer": &u, "exported": exported{u, u}, "pointer to exported": &exported{u, u},
		"unexported": unexported{u, u}, "pointer to unexported": &unexported{u, u}, "pointers": pointers{&u, &u},
		"slice": []proxyurl.URL{u}, "pointer to slice": &[]proxyurl.URL{u}, "slice of pointers": []*proxyurl.URL{&u},
		"map": map[string]proxyurl.URL{"http": u}, "key": map[proxyurl.URL]bool{u: true}, "deep": d, "pointer to deep": &d,
		"slice of any": []any{u, &u}, "embedded": struct{ proxyurl.URL }{u}, "slice of unexported": []unexported{{http: u}},
		"pointer to pointer": func() any { p := &u; return &p }(),
	}
}

func TestFmtShowsNoCredentialsWhateverHoldsThemAndByWhateverVerb(t *testing.T) {
	for name, holder := range holders(secretURL(t)) {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%+q", "%#q", "%x", "%X", "% x", "%#x", "%d", "%o", "%b", "%c", "%U", "%e", "%t", "%p", "%T", "%w", "%z", "%80v"} {
			if text := fmt.Sprintf(verb, holder); len(leaks(text)) > 0 {
				t.Errorf("%s in %s shows %v: %s", verb, name, leaks(text), text)
			}
		}
		if text := fmt.Sprint(holder) + fmt.Sprintln(holder) + fmt.Errorf("using %v: %w", holder, errors.New("x")).Error(); len(leaks(text)) > 0 {
			t.Errorf("%s shows %v: %s", name, leaks(text), text)
		}
	}
}

func TestEncodersShowNoCredentials(t *testing.T) {
	for name, holder := range holders(secretURL(t)) {
		for encoder, encode := range map[string]func(any) ([]byte, error){
			"json": json.Marshal, "yaml": yaml.Marshal,
		} {
			text, err := encode(holder)
			if len(leaks(string(text))) > 0 {
				t.Errorf("%s of %s shows %v: %s", encoder, name, leaks(string(text)), text)
			}
			if err != nil && len(leaks(err.Error())) > 0 {
				t.Errorf("%s of %s fails with %v: %s", encoder, name, leaks(err.Error()), err)
			}
		}
	}
}

func TestLogsShowNoCredentials(t *testing.T) {
	for name, holder := range holders(secretURL(t)) {
		var out bytes.Buffer
		debug := &slog.HandlerOptions{Level: slog.LevelDebug}
		for _, handler := range []slog.Handler{slog.NewTextHandler(&out, debug), slog.NewJSONHandler(&out, debug)} {
			logger := slog.New(handler)
			logger.Info("using", "proxy", holder)
			logger.With("proxy", holder).WithGroup("g").Info("using", slog.Any("proxy", holder), slog.Group("more", "proxy", holder))
			logger.Error(fmt.Sprint(holder), "err", fmt.Errorf("using %+v", holder))
			logr.FromSlogHandler(handler).WithValues("proxy", holder).Error(fmt.Errorf("%v", holder), "using", "proxy", holder)
		}
		funcr.New(func(_, args string) { out.WriteString(args) }, funcr.Options{Verbosity: 9}).Info("using", "proxy", holder)
		if !strings.Contains(out.String(), "using") || len(leaks(out.String())) > 0 {
			t.Errorf("%s shows %v: %s", name, leaks(out.String()), out.String())
		}
	}
}

func TestTheRedactedURLStillSaysWhichProxyItIs(t *testing.T) {
	for text, want := range map[string]string{
		"":                               "",
		"http://proxy.example:3128":      "http://proxy.example:3128",
		"https://me:p@proxy.example:443": "https://***@proxy.example:443",
		"http://me@[::1]:3128":           "http://***@[::1]:3128",
	} {
		u := mustParse(t, text)
		marshalled, err := u.MarshalText()
		got := []string{u.String(), u.GoString(), fmt.Sprintf("%v", u), fmt.Sprintf("%#v", u), fmt.Sprintf("%d", u), u.LogValue().String(), string(marshalled)}
		for i := range got {
			if got[i] != want || err != nil {
				t.Errorf("%q is shown as %q (%v), want %q", text, got, err, want)
			}
		}
	}
}

// Tests of other packages compare URLs; what cmp prints ends up in the logs of
// a pipeline.
func TestComparingURLsShowsNoCredentials(t *testing.T) {
	type holder struct{ HTTP proxyurl.URL }
	secret, other := holder{secretURL(t)}, holder{mustParse(t, "http://proxy.example:3128")}
	if diff := cmp.Diff(secret, other); diff == "" || len(leaks(diff)) > 0 {
		t.Errorf("the difference shows %v:\n%s", leaks(diff), diff)
	}
	if diff := cmp.Diff(secret, holder{secretURL(t)}); diff != "" {
		t.Errorf("equal URLs differ:\n%s", diff)
	}
}
