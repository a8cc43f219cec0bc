// Package authority issues certificates for tests.
package authority

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// lifetime is longer than any demo.
const lifetime = 30 * 24 * time.Hour

// Authority issues certificates that nobody trusts who is not told to.
type Authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// New makes one.
func New(name string) (*Authority, error) {
	a := &Authority{}
	der, key, err := issue(&x509.Certificate{
		Subject:               pkix.Name{CommonName: name},
		KeyUsage:              x509.KeyUsageCertSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
	}, a)
	if err != nil {
		return nil, fmt.Errorf("make the authority %s: %w", name, err)
	}
	a.key = key
	a.certificate, err = x509.ParseCertificate(der)
	return a, err
}

// PEM is its certificate.
func (a *Authority) PEM() []byte { return certificatePEM(a.certificate.Raw) }

// KeyPEM is for who signs in its name.
func (a *Authority) KeyPEM() ([]byte, error) { return keyPEM(a.key) }

// Pool trusts it alone.
func (a *Authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.certificate)
	return pool
}

// Issue makes a server certificate for names and addresses, and its key.
func (a *Authority) Issue(hosts ...string) (certificate, key []byte, err error) {
	template := &x509.Certificate{Subject: pkix.Name{CommonName: hosts[0]}}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	return a.IssueFrom(template)
}

// IssueFrom is Issue for a template. It fills in the fields that are the same in all certificates, and the
// times if missing.
func (a *Authority) IssueFrom(template *x509.Certificate) (certificate, key []byte, err error) {
	template.KeyUsage = x509.KeyUsageDigitalSignature
	der, private, err := issue(template, a)
	if err != nil {
		return nil, nil, fmt.Errorf("issue the certificate of %s: %w", template.Subject.CommonName, err)
	}
	key, err = keyPEM(private)
	return certificatePEM(der), key, err
}

// Write issues a certificate, as Issue does, and writes the authority's, that one and its key into a folder.
func (a *Authority) Write(dir string, hosts ...string) (ca, crt, key string, err error) {
	certificate, private, err := a.Issue(hosts...)
	if err != nil {
		return "", "", "", err
	}
	ca, crt, key = filepath.Join(dir, "ca.crt"), filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	for file, content := range map[string][]byte{ca: a.PEM(), crt: certificate, key: private} {
		if err := os.WriteFile(file, content, 0o600); err != nil {
			return "", "", "", err
		}
	}
	return ca, crt, key, nil
}

// issue signs for the authority; one that is not yet, signs for itself.
func issue(template *x509.Certificate, by *Authority) ([]byte, *ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	template.SerialNumber, err = rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		return nil, nil, err
	}
	if template.NotAfter.IsZero() {
		template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(lifetime)
	}
	parent, signer := by.certificate, by.key
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	return der, key, err
}

func certificatePEM(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func keyPEM(key *ecdsa.PrivateKey) ([]byte, error) {
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}), err
}
