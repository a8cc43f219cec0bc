package tunnel

import (
	"crypto/x509"
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/core/lint"
)

// Probe is the result of asking the proxy for a tunnel to a hub, and of beginning TLS there without a client certificate. This
// package sends no request itself.
type Probe struct {
	Refused    string   // why there was no tunnel; nothing else is known then
	Schemes    []string // of authentication, where the proxy offers others than Basic alone
	NoTLS      string   // why TLS did not come to be
	Chain      []*x509.Certificate
	Protocol   string // that was agreed (ALPN), where h2 and http/1.1 were offered
	AsksClient bool   // for a certificate
	Authority  string // of the company (trustedCA), if it has signed the chain
}

// probed judges what the proxy did, and words it for those who run it.
func (j *judge) probed() {
	probe, asked := j.in.Probes[j.hub.String()]
	if !asked {
		return
	}
	signs, schemes := j.signs(probe), strings.Join(probe.Schemes, ", ")
	switch {
	case len(probe.Schemes) > 0:
		j.say(ProxyAuthentication, lint.Error, fmt.Sprintf("the proxy asks for %s, and agents and the relay know Basic alone: to answer takes an account of the domain, which a pod has not", schemes),
			fmt.Sprintf("tell the network team: For CONNECT to %s from our clusters' nodes, please accept Basic authentication with a service account, or let the nodes' addresses through without any. These are programs without a domain account: they cannot answer %s.", j.hub, schemes))
	case probe.Refused != "":
		j.say(ProxyAnswer, lint.Error, "asked for the way to "+j.hub.String()+", the proxy said "+probe.Refused, "")
	case len(signs) > 0:
		j.say(ProxyInspects, lint.Error, "somebody on the way looks into TLS: "+strings.Join(signs, "; "),
			fmt.Sprintf("tell the network team: Please do not decrypt TLS to %s: tunnel it through unchanged (splice, bypass TLS inspection; by SNI or by the name in CONNECT). %s Traffic that is decrypted on its way is refused, whatever authorities we install.", j.hub, j.reasons()))
	case probe.NoTLS != "":
		j.say(ProxyAnswer, lint.Warning, "the proxy opens a tunnel to "+j.hub.String()+", and there is no TLS in it: "+probe.NoTLS, "")
	case probe.Authority != "":
		j.say(ProxyInspects, lint.Warning, fmt.Sprintf("the certificate of %s is signed by %s, an authority of the company (trustedCA): if the hub is not the company's own, somebody on the way looks into TLS", j.hub, ascii(probe.Authority)),
			"give the Secret with the hub's authority, so that it can be compared; or ask the network team whether they decrypt TLS to this name")
	}
}

// signs returns what shows that somebody ends TLS between the agent and its hub.
func (j *judge) signs(probe Probe) []string {
	var signs []string
	if probe.NoTLS != "" || len(probe.Chain) == 0 {
		return nil
	}
	if authority, ok := j.agentsAuthority(); ok && !Signed(probe.Chain, authority) {
		signs = append(signs, fmt.Sprintf("the certificate that is shown for the hub is of %q, which is not the authority that the agent is given", ascii(probe.Chain[0].Issuer.String())))
	}
	if j.mutual() && !probe.AsksClient {
		signs = append(signs, "nobody asks for the agent's certificate (mTLS), as its hub does")
	}
	if j.program.grpc && probe.Protocol != "h2" {
		signs = append(signs, "HTTP/2 is not agreed (ALPN), without which gRPC ends the connection")
	}
	return signs
}

// reasons returns why this agent takes no other's TLS.
func (j *judge) reasons() string {
	why := "The agent accepts its hub's own authority alone"
	if j.mutual() {
		why += ", and identifies itself by a client certificate (mTLS), which no inspecting proxy can pass on"
	}
	if j.program.grpc {
		why += "; it speaks gRPC, which needs HTTP/2 to be agreed by ALPN"
	}
	return why + "."
}

// mutual says whether the agent has a certificate of its own.
func (j *judge) mutual() bool {
	_, ok := j.line.flag("--agent-cert")
	return ok
}

// agentsAuthority returns the certificates by which the agent knows its hub, if they are given.
func (j *judge) agentsAuthority() (*x509.CertPool, bool) {
	at, ok := j.line.flag("--ca-cert", "--tls-ca")
	if !ok {
		return nil, false
	}
	f, ok := j.in.find(j.container, at)
	pool := x509.NewCertPool()
	return pool, ok && pool.AppendCertsFromPEM([]byte(f.content))
}

// Signed says whether an authority has signed the chain, at the time when it did: whether that is over is another matter.
func Signed(chain []*x509.Certificate, authorities *x509.CertPool) bool {
	between := x509.NewCertPool()
	for _, c := range chain[1:] {
		between.AddCert(c)
	}
	_, err := chain[0].Verify(x509.VerifyOptions{
		Roots: authorities, Intermediates: between, CurrentTime: chain[0].NotBefore, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny},
	})
	return err == nil
}

// ascii replaces every other character by a question mark: others chose the text, and a terminal could misread it.
func ascii(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, text)
}

// Hubs returns the hubs outside of the cluster that agents of a report dial, with a port. A Probe can be about each.
func (r Report) Hubs() []string {
	var hubs []string
	for _, v := range r.Containers {
		at := splitHub(v.Hub, "")
		if at.host != "" && at.port != "" && !at.inside() && !at.loopback() && !slices.Contains(hubs, v.Hub) {
			hubs = append(hubs, v.Hub)
		}
	}
	return hubs
}
