package cli

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/agents/tunnel"
	"github.com/fairlead-io/fairlead/internal/core/proxyenv"
	"github.com/fairlead-io/fairlead/internal/core/proxyurl"
	"github.com/fairlead-io/fairlead/internal/workload/relay"
	"github.com/fairlead-io/fairlead/internal/workload/upstream"
)

// handshakeTimeout is for TLS in a tunnel that is open.
const handshakeTimeout = 30 * time.Second

// probeHubs asks the proxy of the settings, which are the content of the Secret fairlead-proxy, for the way to each hub. What
// could not be asked is a note.
func probeHubs(ctx context.Context, settings map[string]string, hubs []string) (probes map[string]tunnel.Probe, notes []string, err error) {
	proxy, err := proxyurl.Parse(settings[proxyenv.HTTPS])
	if err != nil {
		return nil, nil, fmt.Errorf("--probe: HTTPS_PROXY: %w", err)
	}
	if proxy.IsZero() {
		return nil, nil, errors.New("--probe: there is no proxy for https")
	}
	company := x509.NewCertPool()
	company.AppendCertsFromPEM([]byte(settings["ca.crt"]))
	probes = map[string]tunnel.Probe{}
	for _, hub := range hubs {
		targets, err := relay.ParseTargets([]string{hub})
		if err != nil {
			notes = append(notes, "The proxy was not asked for "+hub+": "+err.Error())
			continue
		}
		probes[hub] = askHub(ctx, proxy, company, settings["ca.crt"], targets[0])
	}
	return probes, notes, nil
}

// askHub opens a tunnel and says no more in it than the first words of TLS.
func askHub(ctx context.Context, proxy proxyurl.URL, company *x509.CertPool, ca string, target relay.Target) tunnel.Probe {
	authorities, err := x509.SystemCertPool()
	if err != nil {
		authorities = x509.NewCertPool()
	}
	authorities.AppendCertsFromPEM([]byte(ca))
	conn, err := relay.Ask(ctx, proxy, authorities, target)
	var refusal *upstream.Refusal
	switch {
	case errors.As(err, &refusal):
		return tunnel.Probe{Refused: refusal.Error(), Schemes: refusal.Schemes}
	case err != nil:
		return tunnel.Probe{Refused: err.Error()}
	}
	defer conn.Close() //nolint:errcheck // nothing was said in it
	return handshake(ctx, conn, target.Host, company)
}

// handshake verifies nothing: what is shown is judged, and nothing is sent.
func handshake(ctx context.Context, conn net.Conn, name string, company *x509.CertPool) tunnel.Probe {
	ctx, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	var seen tunnel.Probe
	client := tls.Client(conn, &tls.Config{
		ServerName: name, NextProtos: []string{"h2", "http/1.1"}, InsecureSkipVerify: true, //nolint:gosec // see above
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			seen.AsksClient = true
			return new(tls.Certificate), nil
		},
	})
	err := client.HandshakeContext(ctx)
	state := client.ConnectionState()
	seen.Chain, seen.Protocol = state.PeerCertificates, state.NegotiatedProtocol
	if err != nil && !seen.AsksClient { // before TLS 1.3, who has no certificate to show is told at once
		seen.NoTLS = err.Error()
	}
	if len(seen.Chain) > 0 && tunnel.Signed(seen.Chain, company) {
		seen.Authority = strings.TrimSpace(seen.Chain[0].Issuer.String())
	}
	return seen
}
