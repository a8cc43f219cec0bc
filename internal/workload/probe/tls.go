package probe

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/fairlead-io/fairlead/internal/core/probe"
	"github.com/fairlead-io/fairlead/internal/workload/upstream"
)

// handshake begins TLS, and judges the certificate itself: with the system's authorities, then with the company's bundle. With
// one that neither knows, it goes on for one request, in which there is no secret: a proxy that inspects TLS shows itself in the
// answer. It returns nil if there is nothing to go on with.
func (a *attempt) handshake(conn net.Conn) *tls.Conn {
	ctx, cancel := upstream.Timeout(a.Stage).Bound(a.ctx)
	defer cancel()
	client := tls.Client(conn, &tls.Config{
		ServerName: a.to.Host, NextProtos: []string{"h2", "http/1.1"}, MinVersion: tls.VersionTLS12,
		InsecureSkipVerify: true, //nolint:gosec // see above
	})
	if err := client.HandshakeContext(ctx); err != nil {
		detail := "there is no TLS with it: " + err.Error()
		if ctx.Err() != nil {
			detail = fmt.Sprintf("there is no TLS with it within %s", a.Stage)
		}
		a.end(probe.TLS, faultOf(err), detail)
		return nil
	}
	state := client.ConnectionState()
	a.seen.ALPN = state.NegotiatedProtocol
	if err := a.verify(state.PeerCertificates); err != nil {
		fault := certificateFault(err)
		if fault == probe.UnknownAuthority && a.seen.Route == probe.Proxied {
			a.askOver(client, func(error) {})
		}
		if a.seen.Stage != probe.ProxyAnswer {
			a.seen.HTTP = 0
			a.end(probe.TLS, fault, err.Error())
		}
		return nil
	}
	return client
}

// verify finds out which authorities know the issuer, and returns an error if the chain is wrong.
func (a *attempt) verify(chain []*x509.Certificate) error {
	intermediates := x509.NewCertPool()
	for _, certificate := range chain[1:] {
		intermediates.AddCert(certificate)
	}
	last := chain[len(chain)-1]
	issuer := sha256.Sum256(append(append([]byte{}, last.RawIssuer...), last.AuthorityKeyId...))
	a.seen.Issuer, a.seen.Authority = nameOf(last), hex.EncodeToString(issuer[:8])
	options := x509.VerifyOptions{DNSName: a.to.Host, Intermediates: intermediates, Roots: a.system}
	_, err := chain[0].Verify(options)
	if a.seen.Route == probe.Direct && a.Cluster != nil && certificateFault(err) == probe.UnknownAuthority {
		options.Roots = a.Cluster
		_, err = chain[0].Verify(options)
	}
	if err == nil {
		a.seen.Trust = probe.BySystem
		return nil
	}
	if certificateFault(err) != probe.UnknownAuthority {
		return err
	}
	bundle, failed := a.settings.Authorities()
	if failed != nil {
		return err
	}
	options.Roots = bundle
	if _, err = chain[0].Verify(options); err == nil {
		a.seen.Trust = probe.ByBundle
	}
	return err
}

// nameOf returns what people call the issuer of a certificate.
func nameOf(certificate *x509.Certificate) string {
	name := certificate.Issuer.CommonName
	if name == "" {
		name = certificate.Issuer.String()
	}
	if len(name) > 100 {
		name = name[:100]
	}
	return strings.ToValidUTF8(name, "")
}

// certificateFault returns the fault of a certificate, or of the connection.
func certificateFault(err error) probe.Fault {
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	switch {
	case errors.As(err, &unknown):
		return probe.UnknownAuthority
	case errors.As(err, &host), errors.As(err, &invalid):
		return probe.BadCertificate
	}
	return faultOf(err)
}
