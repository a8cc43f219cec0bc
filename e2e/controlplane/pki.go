package controlplane

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
	"time"
)

// lifetime is longer than any demo; the keys are made anew for every control plane.
const lifetime = 30 * 24 * time.Hour

const (
	servingName  = "apiserver"
	servingCA    = "serving-ca"
	clientCA     = "client-ca"
	caCommonName = "fairlead-e2e-"
)

// pki is who vouches for the API server and for its users. The two are separate: a certificate that
// identifies the server must not be good for logging in.
type pki struct{ serving, client authority }

type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// writePKI makes the authorities, the server's certificate and the key that signs service account
// tokens, and writes what the programs read.
func writePKI(dir directory, hosts []string) (made pki, err error) {
	if made.serving, err = newAuthority(caCommonName + servingCA); err != nil {
		return made, err
	}
	if made.client, err = newAuthority(caCommonName + clientCA); err != nil {
		return made, err
	}
	serving := &x509.Certificate{
		Subject:     pkix.Name{CommonName: "kube-apiserver"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		DNSNames:    []string{"localhost", "kubernetes.default.svc"},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			serving.IPAddresses = append(serving.IPAddresses, ip)
		} else {
			serving.DNSNames = append(serving.DNSNames, host)
		}
	}
	certificate, key, err := made.serving.issue(serving)
	if err != nil {
		return made, err
	}
	signer, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return made, fmt.Errorf("generate service account key: %w", err)
	}
	signerKey, err := encodeKey(signer)
	if err != nil {
		return made, err
	}
	for path, content := range map[string][]byte{
		dir.certificate(servingCA):   made.serving.pem(),
		dir.certificate(clientCA):    made.client.pem(),
		dir.certificate(servingName): certificate,
		dir.key(servingName):         key,
		dir.serviceAccountKey():      signerKey,
	} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			return made, fmt.Errorf("write certificates: %w", err)
		}
	}
	return made, nil
}

func newAuthority(name string) (authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return authority{}, fmt.Errorf("generate key of %s: %w", name, err)
	}
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: name},
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		BasicConstraintsValid: true,
		IsCA:                  true,
	}
	self := authority{certificate: template, key: key}
	der, err := self.sign(template, key)
	if err != nil {
		return authority{}, err
	}
	self.certificate, err = x509.ParseCertificate(der)
	return self, err
}

// issue makes a key and signs a certificate for it; both come back as PEM.
func (a authority) issue(template *x509.Certificate) (certificate, key []byte, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("generate key of %s: %w", template.Subject.CommonName, err)
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	der, err := a.sign(template, private)
	if err != nil {
		return nil, nil, err
	}
	key, err = encodeKey(private)
	return encodeCertificate(der), key, err
}

func (a authority) sign(template *x509.Certificate, key *ecdsa.PrivateKey) ([]byte, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, fmt.Errorf("draw serial number: %w", err)
	}
	template.SerialNumber = serial
	if template.NotAfter.IsZero() {
		template.NotBefore = time.Now().Add(-time.Minute)
		template.NotAfter = time.Now().Add(lifetime)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return nil, fmt.Errorf("sign certificate of %s: %w", template.Subject.CommonName, err)
	}
	return der, nil
}

func (a authority) pem() []byte { return encodeCertificate(a.certificate.Raw) }

func encodeCertificate(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), nil
}
