package forward

import (
	"context"
	"net/http"
	"net/netip"
	"strings"

	"github.com/fairlead-io/fairlead/internal/core/egress"
	"github.com/fairlead-io/fairlead/internal/workload/upstream"
)

// askedBy: behind a loopback address are many.
func askedBy(r *http.Request) context.Context {
	client, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || client.Addr().IsLoopback() {
		return r.Context()
	}
	return upstream.AskedBy(r.Context(), client.Addr().String())
}

// maxRelays are before this one on an honest way: one beside an agent, one of the cluster, one of the machine. Behind a Service
// that leads back to itself, there may be thousands.
const maxRelays = 3

// pseudonym begins the name of each relay.
const pseudonym = "fairlead-relay-"

// via returns the header of that name, with this relay at its end.
func (p *Proxy) via(r *http.Request) string {
	return strings.Join(append(r.Header.Values("Via"), strings.TrimPrefix(r.Proto, "HTTP/")+" "+p.Name), ", ")
}

// destinationOf reads the authority of CONNECT, or the absolute URL of any other method (RFC 9112, section 3.2).
func destinationOf(r *http.Request) (egress.Destination, *egress.Refusal) {
	switch {
	case r.Method == http.MethodConnect && (r.ContentLength != 0 || len(r.TransferEncoding) > 0):
		return egress.Destination{}, &egress.Refusal{Reason: egress.BadRequest, Text: "CONNECT has no body"}
	case r.Method == http.MethodConnect:
		return egress.ParseDestination(r.RequestURI, 0)
	case r.Method == http.MethodTrace:
		return egress.Destination{}, &egress.Refusal{Reason: egress.NotSupported, Text: "TRACE is answered with the request, which has a password behind this relay"}
	case r.URL.Scheme == "":
		return egress.Destination{}, &egress.Refusal{Reason: egress.BadRequest, Text: "this is a proxy: it takes CONNECT and requests with a whole URL"}
	case r.URL.Scheme != "http":
		return egress.Destination{}, &egress.Refusal{Reason: egress.NotSupported, Text: "for https, ask with CONNECT; other schemes are not known"}
	case r.URL.User != nil:
		return egress.Destination{}, &egress.Refusal{Reason: egress.BadRequest, Text: "the URL has user information (RFC 9110, section 4.2.4)"}
	}
	return egress.ParseDestination(r.URL.Host, 80)
}

// schemeOf returns the scheme of the URL that a client asks for.
func schemeOf(r *http.Request) string {
	if r.Method == http.MethodConnect {
		return "https"
	}
	return "http"
}
