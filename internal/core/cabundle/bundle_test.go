package cabundle_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/core/cabundle"
	"github.com/fairlead-io/fairlead/internal/core/cabundle/cabundletest"
)

func TestABundleIsWrittenOutInOneWayOnly(t *testing.T) {
	a, _ := cabundletest.Authority(t, "A")
	b, _ := cabundletest.Authority(t, "B")
	inner := strings.Split(strings.TrimSpace(a), "\n")
	inner = inner[1 : len(inner)-1]
	oneLine := strings.Replace(a, strings.Join(inner, "\n"), strings.Join(inner, ""), 1)
	for name, test := range map[string]struct{ in, want string }{
		"one":                        {a, a},
		"several, in their order":    {b + a, b + a},
		"one that is there twice":    {a + b + a, a + b},
		"comments and blank lines":   {"# ours\n\n" + a + "\n \t\n# B, too\n" + b + "\n\n", a + b},
		"no line end at the end":     {strings.TrimSpace(a), a},
		"lines as Windows ends them": {"\ufeff" + strings.ReplaceAll(a+b, "\n", "\r\n"), a + b},
		"indented, as in YAML":       {"  " + strings.ReplaceAll(strings.TrimSpace(a), "\n", "\n  "), a},
		"base64 on one long line":    {oneLine, a},
	} {
		t.Run(name, func(t *testing.T) {
			bundle, err := cabundle.Parse([]byte(test.in))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, string(bundle.PEM)); diff != "" {
				t.Error(diff)
			}
			if n := strings.Count(test.want, "BEGIN"); len(bundle.Certificates) != n {
				t.Errorf("%d certificates, not %d", len(bundle.Certificates), n)
			}
		})
	}
}

func TestAPrivateKeyIsRefusedWithTheAdviceToReplaceIt(t *testing.T) {
	a, key := cabundletest.Authority(t, "A")
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	ecKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	sec1, err := x509.MarshalECPrivateKey(ecKey)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, _ := pem.Decode([]byte(key))
	legacy := string(pem.EncodeToMemory(&pem.Block{
		Type: "RSA PRIVATE KEY", Headers: map[string]string{"Proc-Type": "4,ENCRYPTED", "DEK-Info": "AES-256-CBC,00"}, Bytes: []byte("x"),
	}))
	for name, bad := range map[string]string{
		"PKCS #8":                    key,
		"PKCS #1":                    cabundletest.Block("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(rsaKey)),
		"SEC 1":                      cabundletest.Block("EC PRIVATE KEY", sec1),
		"OpenSSH":                    cabundletest.Block("OPENSSH PRIVATE KEY", []byte("x")),
		"PGP":                        cabundletest.Block("PGP PRIVATE KEY BLOCK", []byte("x")),
		"encrypted":                  cabundletest.Block("ENCRYPTED PRIVATE KEY", []byte("x")),
		"encrypted the old way":      legacy,
		"as a certificate":           cabundletest.Block("CERTIFICATE", pkcs8.Bytes),
		"PKCS #1, as a certificate":  cabundletest.Block("CERTIFICATE", x509.MarshalPKCS1PrivateKey(rsaKey)),
		"SEC 1, as a certificate":    cabundletest.Block("CERTIFICATE", sec1),
		"commented out":              "# " + strings.ReplaceAll(strings.TrimSpace(key), "\n", "\n# ") + "\n",
		"without an end":             strings.Split(key, "\n")[0] + "\n",
		"damaged":                    "---" + strings.TrimLeft(key, "-"),
		"in small letters":           strings.ToLower(strings.Split(key, "\n")[0]) + "\n",
		"behind what is refused too": cabundletest.Block("X509 CRL", []byte("x")) + key,
		"in too long a bundle":       key + strings.Repeat("#\n", cabundle.MaxBytes),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := cabundle.Parse([]byte(a + bad))
			if err == nil || !strings.Contains(err.Error(), "private key is in it") || !strings.Contains(err.Error(), "replace the key") {
				t.Fatal(err)
			}
			showsNothing(t, err, bad)
		})
	}
	if _, err := cabundle.Parse([]byte("# no private key in here\n" + a)); err != nil {
		t.Error(err)
	}
}

// showsNothing looks for any ten characters of the base64 in an error.
func showsNothing(t *testing.T, err error, content string) {
	t.Helper()
	for line := range strings.Lines(content) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "---") {
			continue
		}
		for i := 0; i+10 <= len(line); i++ {
			if strings.Contains(err.Error(), line[i:i+10]) {
				t.Fatalf("%q is shown: %v", line[i:i+10], err)
			}
		}
	}
}

func TestWhatIsNotABundleOfAuthoritiesIsRefusedByItsLine(t *testing.T) {
	a, _ := cabundletest.Authority(t, "A")
	lines := strings.Count(a, "\n")
	der, _ := pem.Decode([]byte(a))
	leaf, _ := cabundletest.Authority(t, "leaf", func(c *x509.Certificate) { c.IsCA, c.KeyUsage = false, x509.KeyUsageDigitalSignature })
	unsaid, _ := cabundletest.Authority(t, "unsaid", func(c *x509.Certificate) { c.IsCA, c.BasicConstraintsValid = false, false })
	signs, _ := cabundletest.Authority(t, "signs", func(c *x509.Certificate) { c.KeyUsage = x509.KeyUsageCRLSign })
	middle := strings.Index(a, "\n") + 20
	at := func(n int, what string) string { return fmt.Sprintf("line %d: %s", n, what) }
	for name, test := range map[string]struct{ in, want string }{
		"nothing":                {"", "has no certificate in it"},
		"comments alone":         {"# to be done\n\n", "has no certificate in it"},
		"prose":                  {"hunter2 is the password\n" + a, at(1, "stands outside")},
		"prose behind":           {"# x\n" + "hunter2\n" + a, at(2, "stands outside")},
		"headings of openssl":    {"subject=CN = hunter2\n" + a, at(1, "stands outside")},
		"a damaged first line":   {"-" + strings.TrimLeft(a, "-"), at(1, "stands outside")},
		"DER":                    {string(der.Bytes), "is DER and not PEM"},
		"a request":              {"\n" + cabundletest.Block("CERTIFICATE REQUEST", []byte("x")), at(2, "a block of type CERTIFICATE REQUEST; only CERTIFICATE")},
		"OpenSSL's own type":     {cabundletest.Block("TRUSTED CERTIFICATE", der.Bytes), at(1, "a block of type TRUSTED CERTIFICATE")},
		"a type of one's own":    {cabundletest.Block("HUNTER2", []byte("x")), at(1, "a block of type that is not known")},
		"no end":                 {strings.Split(a, "-----END")[0], at(1, "the block that begins here has no end")},
		"no end before the next": {strings.Split(a, "-----END")[0] + a, at(1, "the block that begins here has no end")},
		"an end of its own":      {"-----END CERTIFICATE-----\n", at(1, "stands outside")},
		"the end of another":     {strings.ReplaceAll(a, "END CERTIFICATE", "END X509 CRL"), fmt.Sprintf("line %d: ends a block of another type", lines)},
		"damaged base64":         {a[:middle] + "!" + a[middle+1:], at(1, "the block that begins here is not valid PEM")},
		"headers":                {strings.Replace(a, "\n", "\nProc-Type: hunter2\n\n", 1), at(1, "the block that begins here is not valid PEM")},
		"no certificate inside":  {cabundletest.Block("CERTIFICATE", []byte("hunter2")), at(1, "the block that begins here is not a certificate")},
		"half of one":            {cabundletest.Block("CERTIFICATE", der.Bytes[:len(der.Bytes)/2]), at(1, "the block that begins here is not a certificate")},
		"more than one in one":   {cabundletest.Block("CERTIFICATE", append(der.Bytes[:len(der.Bytes):len(der.Bytes)], 1)), at(1, "the block that begins here is not a certificate")},
		"a server's":             {leaf, at(1, "the certificate that begins here is not one of an authority: basicConstraints says CA:FALSE")},
		"one that does not say":  {unsaid, at(1, "the certificate that begins here is not one of an authority: it has no basicConstraints")},
		"one that may not sign":  {signs, at(1, "the certificate that begins here is not one of an authority: keyUsage")},
		"more than a bundle":     {strings.Repeat("#\n", cabundle.MaxBytes/2) + "#", "has 262145 bytes; a bundle has at most 262144"},
	} {
		t.Run(name, func(t *testing.T) {
			bundle, err := cabundle.Parse([]byte(test.in))
			if err == nil || !strings.HasPrefix(err.Error(), test.want) {
				t.Fatalf("%v, want %q", err, test.want)
			}
			if strings.Contains(err.Error(), "hunter2") || bundle.PEM != nil {
				t.Errorf("content is shown, or returned: %v", err)
			}
			showsNothing(t, err, test.in)
		})
	}
	_, err := cabundle.Parse([]byte(a + "\n" + leaf))
	if want := fmt.Sprintf("line %d: ", lines+2); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
}

// Package x509 quotes names that it cannot read.
func TestAnErrorOfTheParserIsShownWithoutWhatItQuotes(t *testing.T) {
	bad, _ := cabundletest.Authority(t, "A", func(c *x509.Certificate) { c.URIs = []*url.URL{{Scheme: "http", Host: "hunter2..example"}} })
	_, err := cabundle.Parse([]byte(bad))
	if err == nil || strings.Contains(err.Error(), "ter2") || !strings.HasSuffix(err.Error(), "x509: cannot parse URI") {
		t.Error(err)
	}
}

func TestABundleMayBeAsLongAsItsBound(t *testing.T) {
	var all strings.Builder
	a, _ := cabundletest.Authority(t, "A")
	for all.Len()+len(a) <= cabundle.MaxBytes {
		all.WriteString(a)
	}
	if bundle, err := cabundle.Parse([]byte(all.String())); err != nil || string(bundle.PEM) != a {
		t.Error(err)
	}
}

func TestACertificateSaysWhoItIsAndHowLong(t *testing.T) {
	begin, end := time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC), time.Date(2036, 5, 6, 7, 8, 0, 0, time.UTC)
	in, _ := cabundletest.Authority(t, "A\x1b[31m\n", cabundletest.From(begin), cabundletest.Until(end))
	nameless, _ := cabundletest.Authority(t, "", cabundletest.Until(end.AddDate(-1, 0, 0)))
	long, _ := cabundletest.Authority(t, strings.Repeat("é", 300), func(c *x509.Certificate) { c.Subject.Organization = []string{"ACME, Inc."} }, cabundletest.Until(end))
	bundle, err := cabundle.Parse([]byte(in + nameless + long))
	if err != nil {
		t.Fatal(err)
	}
	c := bundle.Certificates
	want := cabundle.Certificate{
		Subject: "CN=A?[31m?", NotBefore: cabundle.Instant{Unix: begin.Unix(), Text: "2026-01-02 03:04 UTC"},
		NotAfter: cabundle.Instant{Unix: end.Unix(), Text: "2036-05-06 07:08 UTC"},
	}
	if diff := cmp.Diff(want, c[0]); diff != "" {
		t.Error(diff)
	}
	if c[1].Subject != "the certificate with serial number 1f" || len(c[2].Subject) > 210 || !strings.HasSuffix(c[2].Subject, "é…") {
		t.Errorf("%q, %q", c[1].Subject, c[2].Subject)
	}
	if expiry, ok := cabundle.Expiry(c); !ok || expiry.Text != "2035-05-06 07:08 UTC" {
		t.Error(expiry)
	}
	if _, ok := cabundle.Expiry(nil); ok {
		t.Error("nothing expires")
	}
}

func TestValidityChangesAtTheSecondAndIsLookedForThen(t *testing.T) {
	const begin, end = 1_000_000_000, 2_000_000_000
	c := cabundle.Certificate{Subject: "CN=A", NotBefore: cabundle.Instant{Unix: begin, Text: "then"}, NotAfter: cabundle.Instant{Unix: end, Text: "later"}}
	brief := c
	brief.NotAfter.Unix = begin + cabundle.Soon/2
	for _, test := range []struct {
		c    cabundle.Certificate
		now  int64
		want cabundle.Validity
		next int64
		says string
	}{
		{c, 0, cabundle.NotYetValid, begin, "CN=A is not valid before then"},
		{c, begin - 1, cabundle.NotYetValid, begin, "CN=A is not valid before then"},
		{c, begin, cabundle.Valid, end - cabundle.Soon, "CN=A expires on later"},
		{c, end - cabundle.Soon - 1, cabundle.Valid, end - cabundle.Soon, "CN=A expires on later"},
		{c, end - cabundle.Soon, cabundle.ExpiresSoon, end + 1, "CN=A expires on later"},
		{c, end, cabundle.ExpiresSoon, end + 1, "CN=A expires on later"},
		{c, end + 1, cabundle.Expired, 0, "CN=A expired on later"},
		{brief, 0, cabundle.NotYetValid, begin, "CN=A is not valid before then"},
		{brief, begin, cabundle.ExpiresSoon, begin + cabundle.Soon/2 + 1, "CN=A expires on later"},
	} {
		got := test.c.At(test.now)
		next, changes := test.c.Next(test.now)
		if got != test.want || next != test.next || changes != (test.next != 0) || test.c.Says(got) != test.says {
			t.Errorf("at %d: %s until %d (%t): %s", test.now, got, next, changes, test.c.Says(got))
		}
	}
}

// An authority of version 1 cannot say that it is one. Go makes none, so this is
// an RSA root as openssl x509 -req -signkey writes it.
func TestAnOldRootOfVersion1IsTaken(t *testing.T) {
	bundle, err := cabundle.Parse([]byte(version1))
	if err != nil || bundle.Certificates[0].Subject != "CN=Old Root" {
		t.Fatal(err)
	}
	block, _ := pem.Decode(bundle.PEM)
	if c, err := x509.ParseCertificate(block.Bytes); err != nil || c.Version != 1 {
		t.Error("it is not of version 1")
	}
}

func FuzzParse(f *testing.F) {
	a, key, err := cabundletest.Make("A", func(c *x509.Certificate) { c.Subject = pkix.Name{CommonName: "A"} })
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{a, a + a, "# x\n" + a, key, "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n", strings.ReplaceAll(a, "\n", "\r\n")} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		bundle, err := cabundle.Parse(data)
		if err != nil {
			return
		}
		again, err := cabundle.Parse(bundle.PEM)
		if err != nil || string(again.PEM) != string(bundle.PEM) || len(again.Certificates) != len(bundle.Certificates) {
			t.Fatalf("what is written is not read back: %v", err)
		}
	})
}
