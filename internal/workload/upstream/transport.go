package upstream

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/workload/headers"
)

// Transport sends requests for http URLs to a proxy (RFC 9112, section 3.2.2), as [Dialer.Open] does for tunnels.
type Transport struct {
	dialer      *Dialer
	proxy       Proxy
	authorities func() (*x509.CertPool, error)
	timeout     Timeout
	base        headers.Transport
}

// ContinueTimeout is how long a body waits for the answer that it may come (RFC 9110, section 10.1.1): a proxy may refuse it, or
// the credential, before.
const ContinueTimeout = 5 * time.Second

// NewTransport returns one for a proxy. Close it when the settings have changed. Awaiting a credential, and connecting, take at
// most the given time each.
func (d *Dialer) NewTransport(proxy Proxy, authorities func() (*x509.CertPool, error), timeout Timeout) *Transport {
	proxy.plain = true
	return &Transport{d, proxy, authorities, timeout, headers.NewTransport(&http.Transport{
		Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: proxy.Address}), // what speaks TLS is below
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			ctx, cancel := timeout.Bound(ctx)
			defer cancel()
			return d.connect(ctx, proxy, authorities)
		},
		DisableCompression: true, MaxIdleConnsPerHost: 64, IdleConnTimeout: time.Minute, ExpectContinueTimeout: ContinueTimeout,
	})}
}

// Close ends connections that are idle. Requests that are under way go on.
func (t *Transport) Close() { t.base.CloseIdleConnections() }

// RoundTrip sends the request. If the proxy refuses a credential, the next one is tried, unless the request has a body, which
// is gone then. The request's header is the Transport's. A refusal for want of a credential that it accepts is a *Refusal, never an answer.
func (t *Transport) RoundTrip(request *http.Request) (*http.Response, error) {
	var response *http.Response
	waiting := func() (context.Context, context.CancelFunc) { return t.timeout.Bound(request.Context()) }
	body := request.Body != nil && request.Body != http.NoBody
	err := t.dialer.attempts.each(waiting, t.proxy, body, func(one *asking) (got answer, err error) {
		response, got, err = t.ask(request, one)
		return got, err
	})
	if err != nil {
		return nil, fmt.Errorf("the proxy %s: %w", t.proxy.URL, err)
	}
	return response, nil
}

// ask sends a request with a credential. With got refused or unclear there is an error.
func (t *Transport) ask(request *http.Request, one *asking) (response *http.Response, got answer, err error) {
	var tried bool
	if one.again { // a CONNECT tells at once: it costs one wrong password, and not two
		if got, tried, err = t.prove(request, one); got == refused {
			return nil, refused, err
		}
	}
	longer, heard := untilAnswered(request.Context(), time.Duration(t.timeout))
	response, err = t.send(request.WithContext(longer), t.proxy.Credentials[one.index])
	heard()
	switch {
	case err != nil:
		return nil, got, withoutAnswer(err)
	case response.StatusCode != http.StatusProxyAuthRequired:
		if response.StatusCode < http.StatusBadRequest {
			got = accepted
		}
		return withoutPage(response), got, nil
	}
	_ = response.Body.Close()
	said := refusal(response.StatusCode, textproto.MIMEHeader(response.Header), request.URL.Host, !t.proxy.Credentials[one.index].IsZero())
	if !one.again {
		if got, err = t.known(request, one); err != nil {
			return nil, unknown, err
		}
		if got == unknown {
			got, tried, _ = t.prove(request, one)
		}
	}
	switch {
	case got == refused:
		return nil, refused, said
	case got == accepted, one.trusted && tried:
		return nil, got, &Refusal{Status: said.Status, why: fmt.Sprintf("%s said so, and not the proxy, which accepts the password", request.URL.Host)}
	}
	return nil, unclear, said
}

// known says whose a 407 to a request is, the proxy's or the destination's, as any may say it, if that is known, or becomes so while
// others find out. Else the answer to a CONNECT tells, which is always the proxy's: the one who asked waits for it, and nobody else.
func (t *Transport) known(request *http.Request, one *asking) (answer, error) {
	if t.proxy.Credentials[one.index].IsZero() {
		return refused, nil
	}
	waiting, cancel := t.timeout.Bound(request.Context())
	defer cancel()
	return t.dialer.attempts.beginProof(waiting, t.proxy, one)
}

// prove asks the proxy with CONNECT whether it accepts a credential, for a tunnel to the host of a request that nobody uses. It
// may open none, and have tried to, or still do: it has looked at the password, then.
func (t *Transport) prove(request *http.Request, one *asking) (got answer, tried bool, err error) {
	ctx, cancel := t.timeout.Bound(context.WithoutCancel(request.Context()))
	defer cancel()
	tunnel, err := t.dialer.ask(ctx, t.proxy, t.authorities, net.JoinHostPort(request.URL.Hostname(), "443"), request.Header.Get("Via"), one.index)
	var said *Refusal
	switch {
	case err == nil:
		_ = tunnel.Close()
		tried = true
	case errors.As(err, &said):
		tried = said.Status == http.StatusBadGateway || said.Status == http.StatusServiceUnavailable || said.Status == http.StatusGatewayTimeout
	default:
		tried = ctx.Err() != nil
	}
	return answerTo(err), tried, err
}

func (t *Transport) send(request *http.Request, credential Credential) (*http.Response, error) {
	request.Header.Del("Proxy-Authorization") // the one before
	if header := credential.Header(); header != "" {
		request.Header.Set("Proxy-Authorization", header)
	}
	return t.base.RoundTrip(request)
}

// withoutAnswer says of an answer that is none no more than that: net/http shows what the proxy said, which may be what it was
// told.
func withoutAnswer(err error) error {
	var network net.Error
	if errors.As(err, &network) || errors.Is(err, io.EOF) || !strings.Contains(err.Error(), "transport connection broken") {
		return err
	}
	return errors.New("its answer is not HTTP/1, or has a header that is none")
}

// withoutPage replaces an error page of squid's: it may have the whole request in it, with the password.
func withoutPage(response *http.Response) *http.Response {
	reason := response.Header.Get("X-Squid-Error")
	if reason == "" || response.StatusCode < http.StatusBadRequest {
		return response
	}
	_ = response.Body.Close()
	text := fmt.Sprintf("fairlead-relay: the company's proxy answers %d, %s\n", response.StatusCode, reason)
	response.Body, response.ContentLength, response.TransferEncoding = io.NopCloser(strings.NewReader(text)), int64(len(text)), nil
	for name := range response.Header {
		if strings.HasPrefix(name, "Content-") {
			response.Header.Del(name)
		}
	}
	response.Header.Set("Content-Type", "text/plain; charset=utf-8")
	response.Header.Set("Content-Length", strconv.Itoa(len(text)))
	return response
}

// BindsConnection reports that a client authenticates a connection and not a request (RFC 4559, section 6): what is sent on it
// afterwards counts as that client's, and so it must serve no other one.
func BindsConnection(header http.Header) bool {
	return slices.ContainsFunc(header.Values("Authorization"), func(value string) bool {
		scheme, _, _ := strings.Cut(value, " ")
		return strings.EqualFold(scheme, "Negotiate") || strings.EqualFold(scheme, "NTLM")
	})
}
