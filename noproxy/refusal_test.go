package noproxy_test

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/fairlead-io/fairlead/noproxy"
)

func TestEverythingElseIsRefusedWithItsReason(t *testing.T) {
	for name, test := range map[string]struct {
		token  string
		reason noproxy.Reason
	}{
		"nothing":                              {"", noproxy.ReasonEmpty},
		"only blanks":                          {" \t\n", noproxy.ReasonEmpty},
		"300 bytes":                            {strings.Repeat("a.", 150), noproxy.ReasonTooLong},
		"a name of 254 characters":             {strings.Repeat("abcdefg.", 31) + "abcdef", noproxy.ReasonTooLong},
		"a URL":                                {"https://example.com", noproxy.ReasonScheme},
		"a URL with a path":                    {"https://example.com/x", noproxy.ReasonScheme},
		"a proxy URL with user information":    {"http://u:p@example.com:3128", noproxy.ReasonUserinfo},
		"user information without a scheme":    {"u:p@example.com", noproxy.ReasonUserinfo},
		"a path":                               {"example.com/x", noproxy.ReasonPath},
		"a name with a slash":                  {"example.com/", noproxy.ReasonPath},
		"a network of two octets":              {"10/8", noproxy.ReasonPath},
		"a blank inside":                       {"a b", noproxy.ReasonSpace},
		"a tab inside":                         {"a\tb", noproxy.ReasonSpace},
		"a no-break space inside":              {"a\u00a0b", noproxy.ReasonSpace},
		"a comma":                              {"a,b", noproxy.ReasonCharacter},
		"a semicolon":                          {"a;b", noproxy.ReasonCharacter},
		"a bar":                                {"a|b", noproxy.ReasonCharacter},
		"double quotes":                        {`"example.com"`, noproxy.ReasonCharacter},
		"single quotes":                        {`'example.com'`, noproxy.ReasonCharacter},
		"a percent sign":                       {"example%2ecom", noproxy.ReasonCharacter},
		"a hash":                               {"#example.com", noproxy.ReasonCharacter},
		"a template":                           {"{{domain}}", noproxy.ReasonCharacter},
		"a shell variable":                     {"$DOMAIN", noproxy.ReasonCharacter},
		"a backslash":                          {`example\.com`, noproxy.ReasonCharacter},
		"the <local> of Windows":               {"<local>", noproxy.ReasonCharacter},
		"a NUL byte":                           {"exam\x00ple", noproxy.ReasonCharacter},
		"a control character":                  {"exam\x1bple", noproxy.ReasonCharacter},
		"invalid UTF-8":                        {"exam\xffple", noproxy.ReasonCharacter},
		"a replacement character":              {"exam\ufffdple", noproxy.ReasonIDNA},
		"a joiner where none may be":           {"a\u200db", noproxy.ReasonIDNA},
		"an underscore beside a U-label":       {"a_b.bücher.example", noproxy.ReasonIDNA},
		"a fullwidth star":                     {"＊.example", noproxy.ReasonIDNA},
		"a star in the middle":                 {"a.*.example", noproxy.ReasonWildcard},
		"a star inside a label":                {"a*.example", noproxy.ReasonWildcard},
		"a star without a dot":                 {"*example", noproxy.ReasonWildcard},
		"two stars":                            {"*.*.example", noproxy.ReasonWildcard},
		"a star with a port":                   {"*:80", noproxy.ReasonWildcard},
		"a star for an octet":                  {"10.*", noproxy.ReasonWildcard},
		"a star for the last octet":            {"10.1.2.*", noproxy.ReasonWildcard},
		"a range of addresses":                 {"10.1.2.1-10.1.2.9", noproxy.ReasonRange},
		"a range of last octets":               {"10.1.2.1-9", noproxy.ReasonRange},
		"a range of IPv6 addresses":            {"fd00::1-fd00::9", noproxy.ReasonAddress},
		"a prefix length too long for IPv4":    {"10.0.0.0/33", noproxy.ReasonPrefix},
		"a prefix length too long for IPv6":    {"fd00::/129", noproxy.ReasonPrefix},
		"a prefix length below 0":              {"10.0.0.0/-1", noproxy.ReasonPrefix},
		"a prefix length with a sign":          {"10.0.0.0/+8", noproxy.ReasonPrefix},
		"a prefix length with a zero in front": {"10.0.0.0/08", noproxy.ReasonPrefix},
		"no prefix length":                     {"10.0.0.0/", noproxy.ReasonPrefix},
		"a prefix length that overflows":       {"10.0.0.0/99999999999999999999", noproxy.ReasonPrefix},
		"a netmask":                            {"10.0.0.0/255.0.0.0", noproxy.ReasonPrefix},
		"two slashes":                          {"10.0.0.0/8/8", noproxy.ReasonPrefix},
		"a bracket that ends behind the bits":  {"[fd00::/8]", noproxy.ReasonPath},
		"a bracket that is never closed":       {"[fd00::/8", noproxy.ReasonPath},
		"a bracket that was never opened":      {"fd00::]/8", noproxy.ReasonPath},
		"a network with a port":                {"10.0.0.0/8:80", noproxy.ReasonPort},
		"an IPv6 network with a port":          {"[fd00::]/8:80", noproxy.ReasonPort},
		"a network with a zone":                {"fe80::%eth0/64", noproxy.ReasonZone},
		"an address with a zone":               {"fe80::1%eth0", noproxy.ReasonZone},
		"a bracketed address with a zone":      {"[fe80::1%eth0]", noproxy.ReasonZone},
		"a zone and a port":                    {"[fe80::1%eth0]:80", noproxy.ReasonZone},
		"three octets":                         {"10.1.2", noproxy.ReasonAddress},
		"five octets":                          {"10.1.2.3.4", noproxy.ReasonAddress},
		"an octet too large":                   {"10.1.2.256", noproxy.ReasonAddress},
		"an octet with a zero in front":        {"10.01.2.3", noproxy.ReasonAddress},
		"an address as one number":             {"167772161", noproxy.ReasonAddress},
		"an address with a final dot":          {"10.1.2.3.", noproxy.ReasonAddress},
		"a dot and an address":                 {".10.1.2.3", noproxy.ReasonAddress},
		"an IPv6 address with too many groups": {"1:2:3:4:5:6:7:8:9", noproxy.ReasonAddress},
		"an IPv4 address in brackets":          {"[10.1.2.3]", noproxy.ReasonAddress},
		"a name in brackets":                   {"[example.com]", noproxy.ReasonAddress},
		"an open bracket":                      {"[::1", noproxy.ReasonAddress},
		"text behind the bracket":              {"[::1]x", noproxy.ReasonPort},
		"port 0":                               {"example.com:0", noproxy.ReasonPort},
		"port 65536":                           {"example.com:65536", noproxy.ReasonPort},
		"an empty port":                        {"example.com:", noproxy.ReasonPort},
		"a port with a sign":                   {"example.com:+80", noproxy.ReasonPort},
		"a port with a zero in front":          {"example.com:080", noproxy.ReasonPort},
		"a named port":                         {"example.com:http", noproxy.ReasonPort},
		"an empty bracketed port":              {"[::1]:", noproxy.ReasonPort},
		"a port alone":                         {":80", noproxy.ReasonLabel},
		"a dot alone":                          {".", noproxy.ReasonLabel},
		"a star and a dot":                     {"*.", noproxy.ReasonLabel},
		"two dots inside":                      {"a..b", noproxy.ReasonLabel},
		"two dots in front":                    {"..example.com", noproxy.ReasonLabel},
		"a star and two dots":                  {"*..example.com", noproxy.ReasonLabel},
		"a star and two dots and a U-label":    {"*..bücher.example", noproxy.ReasonLabel},
		"two dots in front of a U-label":       {"..bücher.example", noproxy.ReasonLabel},
		"two final dots":                       {"example.com..", noproxy.ReasonLabel},
		"a label of 64 characters":             {strings.Repeat("a", 64) + ".example", noproxy.ReasonLabel},
		"a hyphen at the start of a label":     {"-a.example", noproxy.ReasonLabel},
		"a hyphen at the end of a label":       {"a-.example", noproxy.ReasonLabel},
	} {
		t.Run(name, func(t *testing.T) {
			entry, err := noproxy.Parse(test.token)
			var refusal *noproxy.Refusal
			if !errors.As(err, &refusal) {
				t.Fatalf("%q is read as %+v (%v)", test.token, entry, err)
			}
			if refusal.Reason != test.reason {
				t.Errorf("refused for %s (%s), want %s", refusal.Reason, refusal.Detail, test.reason)
			}
			if entry != (noproxy.Entry{}) {
				t.Errorf("a refused entry came with %+v", entry)
			}
			if refusal.Detail == "" || !utf8.ValidString(err.Error()) || len(err.Error()) > 300 {
				t.Errorf("unusable message %q", err)
			}
		})
	}
}

func TestAnEndpointIsOneHost(t *testing.T) {
	for name, host := range map[string]string{
		"nothing": "", "everything": "*", "a network": "10.0.0.0/8", "a network of one address": "10.1.2.3/32", "a port": "example.com:6443",
		"an address and port": "[::1]:6443", "a leading dot": ".example.com", "a URL": "https://example.com",
	} {
		t.Run(name, func(t *testing.T) {
			var refusal *noproxy.Refusal
			if entry, err := noproxy.HostEntry(host); !errors.As(err, &refusal) {
				t.Errorf("%q is read as %+v (%v)", host, entry, err)
			}
		})
	}
}

// A proxy URL in the field for NO_PROXY is an ordinary mistake. A comma in its
// password makes several entries of it, which is for package resolve to see.
func TestARefusalNeverShowsAPassword(t *testing.T) {
	for name, token := range map[string]string{
		"a proxy URL":                     "http://me:S3CRET@proxy.example:3128",
		"a proxy URL without its scheme":  "me:S3CRET@proxy.example:3128",
		"an @ in the password":            "http://me:S3CRET@S3CRET@proxy.example:3128",
		"a slash in the password":         "http://me:S3CRET/S3CRET@proxy.example:3128",
		"a blank in the password":         "http://me:S3CRET S3CRET@proxy.example:3128",
		"a long password":                 "http://me:" + strings.Repeat("S3CRET", 60) + "@proxy.example:3128",
		"a network behind the credential": "http://me:S3CRET@10.0.0.0/8",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := noproxy.Parse(token)
			if err == nil {
				t.Fatal("accepted")
			}
			if strings.Contains(err.Error(), "S3CRET") {
				t.Errorf("shown: %s", err)
			}
		})
	}
}

func TestARefusalNamesTheEntry(t *testing.T) {
	for token, want := range map[string]string{
		"10.0.0.0/33":                    `"10.0.0.0/33"`,
		"https://example.com/x":          `"https://example.com/x"`,
		"http://u:p@proxy.example:3128":  `"***@proxy.example:3128"`,
		"https://example.com:8443/x":     `"https://example.com:***"`,
		"a\x00b":                         `"a\x00b"`,
		strings.Repeat("ä", 200):         "…",
		"xyz/" + strings.Repeat("€", 50): "…",
	} {
		_, err := noproxy.Parse(token)
		var refusal *noproxy.Refusal
		if !errors.As(err, &refusal) || !strings.Contains(err.Error(), want) {
			t.Fatalf("%q is refused with %v, which lacks %s", token, err, want)
		}
		if !utf8.ValidString(refusal.Value) {
			t.Errorf("%q is shown as %q, cut inside a character", token, refusal.Value)
		}
	}
}

func TestAListWithUserinfoIsRefusedAsAWholeByParseList(t *testing.T) {
	list, err := noproxy.ParseList("a.example,http://me:S3C,RET@proxy.example:3128", noproxy.Source{Field: "NO_PROXY"})
	if list != nil || err == nil || strings.Contains(err.Error(), "S3C") || !strings.HasPrefix(err.Error(), "NO_PROXY[1]: ") {
		t.Errorf("%v, %v", list, err)
	}
}
