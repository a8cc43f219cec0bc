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
	dialer *Dialer
	proxy  Proxy
	base   headers.Transport
	bound  func(context.Context) (context.Context, context.CancelFunc)
}

// ContinueTimeout is how long a body waits for the answer that it may come (RFC 9110, section 10.1.1): a proxy may refuse it, or
// the credential, before.
const ContinueTimeout = 5 * time.Second

// NewTransport returns one for a proxy. Close it when the settings have changed. Awaiting a credential, and connecting, take at
// most the given time each, whose cause the error is.
func (d *Dialer) NewTransport(proxy Proxy, authorities func() (*x509.CertPool, error), timeout time.Duration, cause error) *Transport {
	proxy.requests = true
	bound := func(ctx context.Context) (context.Context, context.CancelFunc) {
		return context.WithTimeoutCause(ctx, timeout, cause)
	}
	return &Transport{d, proxy, headers.NewTransport(&http.Transport{
		Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: proxy.Address}), // what speaks TLS is below
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			ctx, cancel := bound(ctx)
			defer cancel()
			return d.connect(ctx, proxy, authorities)
		},
		DisableCompression: true, MaxIdleConnsPerHost: 64, IdleConnTimeout: time.Minute, ExpectContinueTimeout: ContinueTimeout,
	}), bound}
}

// Close ends connections that are idle. Requests that are under way go on.
func (t *Transport) Close() { t.base.CloseIdleConnections() }

// RoundTrip sends the request. If the proxy refuses a credential, the next one is tried, unless the request has a body, which
// is gone then. The request's header is the Transport's. A refusal for want of a credential that it accepts is a *Refusal, never an answer.
func (t *Transport) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := t.roundTrip(request)
	if err != nil {
		return nil, fmt.Errorf("the proxy %s: %w", t.proxy.URL, err)
	}
	return response, nil
}

func (t *Transport) roundTrip(request *http.Request) (*http.Response, error) {
	var failed error
	body := request.Body != nil && request.Body != http.NoBody
	for from := 0; ; {
		waiting, cancel := t.bound(request.Context())
		index, end, err := t.dialer.attempts.begin(waiting, t.proxy, from, body)
		cancel()
		if err != nil {
			if failed != nil {
				err = failed
			}
			return nil, err
		}
		response, err := t.send(request.WithContext(t.dialer.attempts.hears(request.Context(), t.proxy, index)), t.proxy.Credentials[index])
		switch {
		case err != nil:
			end(unknown)
			return nil, withoutAnswer(err)
		case response.StatusCode != http.StatusProxyAuthRequired:
			end(answerOf(response))
			return withoutPage(response), nil
		}
		end(refused)
		_ = response.Body.Close()
		failed = refusal(response.StatusCode, textproto.MIMEHeader(response.Header), request.URL.Host, !t.proxy.Credentials[index].IsZero())
		if from = index + 1; from == len(t.proxy.Credentials) || body {
			return nil, failed
		}
	}
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

func answerOf(response *http.Response) answer {
	if response.StatusCode < http.StatusBadRequest {
		return accepted
	}
	return unknown
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
