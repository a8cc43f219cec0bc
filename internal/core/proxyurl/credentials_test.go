package proxyurl_test

import (
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/fairlead-io/fairlead/internal/core/proxyurl"
)

func mustParse(tb testing.TB, text string) proxyurl.URL {
	tb.Helper()
	u, err := proxyurl.Parse(text)
	if err != nil {
		tb.Fatal(err)
	}
	return u
}

// checkRoundTrip reads a revealed URL back with net/url, as any Go program that
// uses the proxy does, and expects the raw credentials.
func checkRoundTrip(tb interface {
	Helper()
	Fatalf(string, ...any)
}, revealed, username, password string,
) {
	tb.Helper()
	read, err := url.Parse(revealed)
	if err != nil {
		tb.Fatalf("net/url cannot read it: %v", err)
	}
	got, ok := read.User.Password()
	if read.User.Username() != username || got != password || ok != (password != "") {
		tb.Fatalf("%q, %q come back as %q, %q", username, password, read.User.Username(), got)
	}
	if read.Host != "proxy.example:3128" || read.Path != "" || read.RawQuery != "" || read.Fragment != "" {
		tb.Fatalf("the credentials %q, %q spill into %q", username, password, revealed)
	}
}

func printableASCII() string {
	var all strings.Builder
	for c := byte(0x20); c < 0x7f; c++ {
		all.WriteByte(c)
	}
	return all.String()
}

func TestRawCredentialsAreEncodedSoThatEveryReaderGetsThemBack(t *testing.T) {
	all := printableASCII()
	for name, test := range map[string]struct{ username, password, wantUsername, wantPassword string }{
		"plain":                            {"me", "secret", "me", "secret"},
		"every printable character":        {strings.ReplaceAll(all, ":", ""), all, strings.ReplaceAll(all, ":", ""), all},
		"UTF-8":                            {"björn", "pässwört€😀", "björn", "pässwört€😀"},
		"bytes that are not UTF-8":         {"me", "\xff\xfe", "me", "\xff\xfe"},
		"what looks encoded already":       {"me", "p%40ss", "me", "p%40ss"},
		"a domain user":                    {`DOM\me`, "secret", `DOM\me`, "secret"},
		"a colon in the password":          {"me", "a:b:", "me", "a:b:"},
		"blanks, which belong to it":       {" me ", " s ", " me ", " s "},
		"a line end, which editors add":    {"me\n", "secret\n", "me", "secret"},
		"a line end of Windows":            {"me\r\n", "secret\r\n", "me", "secret"},
		"a username alone":                 {"me", "", "me", ""},
		"a password that is one line end":  {"me", "\n", "me", ""},
		"what has a meaning to a shell":    {"$USER", "`id`$(id)!", "$USER", "`id`$(id)!"},
		"what has a meaning to a template": {"{{ user }}", "${x}{% x %}", "{{ user }}", "${x}{% x %}"},
	} {
		t.Run(name, func(t *testing.T) {
			u, err := mustParse(t, "http://proxy.example:3128").WithCredentials(test.username, test.password)
			if err != nil {
				t.Fatal(err)
			}
			revealed := u.Reveal()
			checkRoundTrip(t, revealed, test.wantUsername, test.wantPassword)
			userinfo, _, _ := strings.Cut(strings.TrimPrefix(revealed, "http://"), "@")
			if odd := strings.Trim(userinfo, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~%:"); odd != "" {
				t.Errorf("left unencoded from %q on", odd)
			}
			if again, err := proxyurl.Parse(revealed); err != nil || !again.Equal(u) {
				t.Errorf("%q is not read back: %v", revealed, err)
			}
		})
	}
}

func TestCredentialsThatNoProxyCanBeSentAreRefusedWithoutShowingThem(t *testing.T) {
	plain, full := "http://proxy.example:3128", "http://S3CRET:S3CRET@proxy.example:3128"
	for name, test := range map[string]struct{ url, username, password, want string }{
		"a colon in the username":      {plain, "S3CRET:x", "S3CRET", "username contains a colon"},
		"no username":                  {plain, "", "S3CRET", "no username"},
		"a username that is a newline": {plain, "\n", "S3CRET", "no username"},
		"a newline in the username":    {plain, "S3\nCRET", "S3CRET", "username contains a control character"},
		"a newline in the password":    {plain, "S3CRET", "S3\nCRET", "password contains a control character"},
		"two newlines at the end":      {plain, "S3CRET", "S3CRET\n\n", "password contains a control character"},
		"a NUL byte":                   {plain, "S3CRET", "S3\x00CRET", "password contains a control character"},
		"a DEL":                        {plain, "S3CRET", "S3\x7fCRET", "password contains a control character"},
		"a tab":                        {plain, "S3\tCRET", "S3CRET", "username contains a control character"},
		"credentials twice":            {full, "S3CRET", "S3CRET", "given twice"},
	} {
		t.Run(name, func(t *testing.T) {
			u, err := mustParse(t, test.url).WithCredentials(test.username, test.password)
			if err == nil {
				t.Fatalf("accepted as %q", u.Reveal())
			}
			if !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "S3") {
				t.Errorf("refused with %q, want %q", err, test.want)
			}
			if !u.IsZero() {
				t.Errorf("a refusal came with %q", u.Reveal())
			}
		})
	}
}

func TestNoCredentialsLeaveTheURLAsItIs(t *testing.T) {
	plain := mustParse(t, "http://proxy.example:3128")
	if u, err := plain.WithCredentials("", "\n"); err != nil || !u.Equal(plain) {
		t.Errorf("became %q (%v)", u.Reveal(), err)
	}
	if u, err := (proxyurl.URL{}).WithCredentials("me", "secret"); err != nil || !u.IsZero() {
		t.Errorf("no URL became %q (%v)", u.Reveal(), err)
	}
	if u, err := plain.WithCredentials("me", "secret"); err != nil || plain.HasCredentials() || u.Equal(plain) {
		t.Errorf("the plain URL was changed: %q, %q (%v)", plain.Reveal(), u.Reveal(), err)
	}
}

func TestURLsThatDifferInTheirPasswordAloneAreNotEqual(t *testing.T) {
	base := mustParse(t, "http://me:one@proxy.example:3128")
	if !base.Equal(mustParse(t, "HTTP://me:one@PROXY.example:3128/")) {
		t.Error("two spellings of one URL are not equal")
	}
	for _, other := range []string{"http://me:two@proxy.example:3128", "http://proxy.example:3128", ""} {
		if base.Equal(mustParse(t, other)) {
			t.Errorf("equals %q", other)
		}
	}
}

// carried tells what WithCredentials promises to take.
func carried(username, password string) bool {
	control := func(r rune) bool { return r < 0x20 || r == 0x7f }
	return username != "" && !strings.Contains(username, ":") &&
		!strings.ContainsFunc(username, control) && !strings.ContainsFunc(password, control)
}

func TestAnyCredentialsComeBackAsTheyWere(t *testing.T) {
	text := rapid.OneOf(rapid.String(), rapid.StringOf(rapid.RuneFrom([]rune(printableASCII()))))
	rapid.Check(t, func(t *rapid.T) {
		username, password := text.Draw(t, "username"), text.Draw(t, "password")
		if !carried(username, password) {
			t.Skip("not for HTTP Basic authentication")
		}
		base, _ := proxyurl.Parse("http://proxy.example:3128")
		u, err := base.WithCredentials(username, password)
		if err != nil {
			t.Fatal(err)
		}
		checkRoundTrip(t, u.Reveal(), username, password)
	})
}

func FuzzWithCredentials(f *testing.F) {
	f.Add("me", "secret")
	f.Add("DOM\\me", printableASCII())
	f.Add("me:x", "a\x00")
	f.Add("é", "\xff\n")
	f.Fuzz(func(t *testing.T, username, password string) {
		u, err := mustParse(t, "http://proxy.example:3128").WithCredentials(username, password)
		if err != nil {
			if u.IsZero() && carried(username, password) {
				t.Fatalf("%q, %q are refused: %v", username, password, err)
			}
			return
		}
		trim := func(s string) string { return strings.TrimSuffix(strings.TrimSuffix(s, "\n"), "\r") }
		if trim(username) != "" || trim(password) != "" {
			checkRoundTrip(t, u.Reveal(), trim(username), trim(password))
		}
	})
}

func FuzzParseURL(f *testing.F) {
	for _, seed := range []string{"", "http://h:1", "HTTPS://u:p%40@[::1]:3128/", "http://u@h", "socks5://h:1", "http://u:p@h:1/x", "http://u:%zz@h:1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		u, err := proxyurl.Parse(text)
		if err != nil {
			if !utf8.ValidString(err.Error()) || !u.IsZero() {
				t.Fatalf("%q: %q, %q", text, err, u.Reveal())
			}
			return
		}
		revealed := u.Reveal()
		if strings.ContainsFunc(revealed, func(r rune) bool { return r <= 0x20 || r >= 0x7f }) {
			t.Fatalf("%q is not printable ASCII", revealed)
		}
		if again, err := proxyurl.Parse(revealed); err != nil || again.Reveal() != revealed {
			t.Fatalf("%q becomes %q becomes %q (%v)", text, revealed, again.Reveal(), err)
		}
		read, err := url.Parse(revealed)
		if err != nil || read.Path != "" || !u.IsZero() && (read.Hostname() == "" || read.Port() == "") {
			t.Fatalf("%q: net/url reads %q as %+v (%v)", text, revealed, read, err)
		}
	})
}

func TestWithoutCredentialsEverythingElseStays(t *testing.T) {
	for text, want := range map[string]string{
		"":                               "",
		"http://proxy.example:3128":      "http://proxy.example:3128",
		"https://me:p@proxy.example:443": "https://proxy.example:443",
		"http://me@[::1]:3128":           "http://[::1]:3128",
	} {
		with := mustParse(t, text)
		without := with.WithoutCredentials()
		if without.Reveal() != want || without.String() != want || without.HasCredentials() || without.IsZero() != (text == "") {
			t.Errorf("%q without credentials is %q", text, without.Reveal())
		}
		if with.Reveal() != text {
			t.Errorf("%q has become %q", text, with.Reveal())
		}
	}
}
