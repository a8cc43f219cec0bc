// Package cabundletest makes certificates for tests.
package cabundletest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"testing"
	"time"
)

// Authority returns a self-signed certificate of this common name in PEM, and
// its key. It is one of an authority, valid from ten years ago for another ten,
// unless changed otherwise.
func Authority(tb testing.TB, name string, change ...func(*x509.Certificate)) (certificate, key string) {
	tb.Helper()
	certificate, key, err := Make(name, change...)
	if err != nil {
		tb.Fatal(err)
	}
	return certificate, key
}

// Make is Authority for those that have no testing.TB.
func Make(name string, change ...func(*x509.Certificate)) (certificate, key string, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", "", err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(0x1f), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().AddDate(-10, 0, 0), NotAfter: time.Now().AddDate(10, 0, 0),
		BasicConstraintsValid: true, IsCA: true, KeyUsage: x509.KeyUsageCertSign,
	}
	for _, c := range change {
		c(template)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		return "", "", err
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	return Block("CERTIFICATE", der), Block("PRIVATE KEY", pkcs8), err
}

// Block returns a block of PEM.
func Block(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

// Until lets a certificate end at a time.
func Until(end time.Time) func(*x509.Certificate) {
	return func(c *x509.Certificate) { c.NotAfter = end }
}

// From lets a certificate begin at a time.
func From(begin time.Time) func(*x509.Certificate) {
	return func(c *x509.Certificate) { c.NotBefore = begin }
}
