package tunnel_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/agents/tunnel"
)

// signedBy returns an authority, and a chain of one that it has signed.
func signedBy(t *testing.T, name string) (string, []*x509.Certificate) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	authority := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, authority, authority, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	leaf := &x509.Certificate{SerialNumber: big.NewInt(2), DNSNames: []string{"hub.example"}, NotBefore: now, NotAfter: now.Add(time.Minute)}
	leafDER, err := x509.CreateCertificate(rand.Reader, leaf, authority, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(leafDER)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), []*x509.Certificate{parsed}
}

func TestWhatAProbeHasSeen(t *testing.T) {
	own, chain := signedBy(t, "Hub")
	_, others := signedBy(t, "Corp \x1b[31mInspection")
	beside := "\n---\nkind: Secret\nmetadata: {name: agent}\nstringData: {ca.crt: '" + strings.ReplaceAll(own, "\n", "\n\n") + "'}\n" + secret("http://10.0.0.9:3128", "")
	const mutual = "args: [--proxy-server-host=hub.example, --proxy-server-port=443, --keepalive-time=30s, --ca-cert=/etc/agent/ca.crt, --agent-cert=/etc/agent/tls.crt]\nvolumeMounts: [{name: agent, mountPath: /etc/agent}]"
	for name, test := range map[string]struct {
		probe tunnel.Probe
		codes string
		says  string
	}{
		"the hub itself":            {tunnel.Probe{Chain: chain, Protocol: "h2", AsksClient: true}, "", ""},
		"another's certificate":     {tunnel.Probe{Chain: others, Protocol: "h2", AsksClient: true}, "Error ProxyInspects", `of "CN=Corp ?[31mInspection"`},
		"no question for the own":   {tunnel.Probe{Chain: chain, Protocol: "h2"}, "Error ProxyInspects", "(mTLS)"},
		"no HTTP/2":                 {tunnel.Probe{Chain: chain, AsksClient: true}, "Error ProxyInspects", "(ALPN)"},
		"signed by the company":     {tunnel.Probe{Chain: chain, Protocol: "h2", AsksClient: true, Authority: "CN=Corp"}, "Warning ProxyInspects", "signed by CN=Corp"},
		"Kerberos":                  {tunnel.Probe{Refused: "407", Schemes: []string{"Negotiate", "NTLM"}}, "Error ProxyAuthentication", "the proxy asks for Negotiate, NTLM"},
		"no tunnel":                 {tunnel.Probe{Refused: "403 Forbidden: no"}, "Error ProxyAnswer", "403 Forbidden"},
		"a tunnel in which is none": {tunnel.Probe{NoTLS: "EOF"}, "Warning ProxyAnswer", "no TLS in it: EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			in := readInput(t, parts{container: mutual + fromSecret("HTTPS_PROXY"), spec: "volumes: [{name: agent, secret: {secretName: agent}}]", beside: beside}.manifest())
			in.Probes = map[string]tunnel.Probe{"hub.example:443": test.probe}
			got, all := judge(t, in)
			if strings.Join(all, ", ") != test.codes {
				t.Fatalf("%v, want %s: %+v", all, test.codes, got.Findings)
			}
			for _, f := range got.Findings {
				if !strings.Contains(f.Why, test.says) {
					t.Errorf("%q is not in %q", test.says, f.Why)
				}
			}
		})
	}
	// Nobody has asked about another hub.
	in := readInput(t, parts{container: anp + fromSecret("HTTPS_PROXY"), beside: secret("http://10.0.0.9:3128", "")}.manifest())
	in.Probes = map[string]tunnel.Probe{"other.example:443": {Refused: "403"}}
	if _, all := judge(t, in); len(all) > 0 {
		t.Errorf("%v", all)
	}
	// The agent does not ask the proxy for this one.
	in = readInput(t, parts{container: anp + fromSecret("HTTPS_PROXY", "NO_PROXY"), beside: secret("http://10.0.0.9:3128", "hub.example")}.manifest())
	in.Probes = map[string]tunnel.Probe{"hub.example:443": {Refused: "403"}}
	if _, all := judge(t, in); slices.ContainsFunc(all, func(code string) bool { return strings.HasSuffix(code, "ProxyAnswer") }) || len(all) == 0 {
		t.Errorf("%v", all)
	}
}
