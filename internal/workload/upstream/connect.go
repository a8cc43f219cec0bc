// Package upstream reaches destinations through the company's proxy, for programs that keep its settings in a folder.
package upstream

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/textproto"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/version"
)

// maxHeader is how long a proxy's answer may be; real ones have a few hundred bytes.
const maxHeader = 16 << 10

// connect asks the proxy for the way to the target (RFC 9110, section 9.3.6), and returns what the target has sent
// already.
func connect(ctx context.Context, proxy net.Conn, target, authorization, via string) ([]byte, error) {
	release := context.AfterFunc(ctx, func() { _ = proxy.SetDeadline(time.Unix(1, 0)) })
	early, err := ask(proxy, target, authorization, via)
	if !release() { // a deadline is set, whatever the answer was
		return nil, context.Cause(ctx)
	}
	return early, err
}

func ask(proxy net.Conn, target, authorization, via string) ([]byte, error) {
	if _, err := io.WriteString(proxy, request(target, authorization, via)); err != nil {
		return nil, fmt.Errorf("it does not take the request: %w", err)
	}
	return readAnswer(proxy, target, authorization != "")
}

// request has the credentials from the beginning: a proxy that asks for them first ends the connection.
// Via (RFC 9110, section 7.6.3) shows a proxy that leads back that it does.
func request(target, authorization, via string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "CONNECT %[1]s HTTP/1.1\r\nHost: %[1]s\r\nUser-Agent: fairlead-relay/%[2]s\r\n", target, version.Version)
	if authorization != "" {
		b.WriteString("Proxy-Authorization: " + authorization + "\r\n")
	}
	if via != "" {
		b.WriteString("Via: " + via + "\r\n")
	}
	b.WriteString("\r\n")
	return b.String()
}

// readAnswer reads the answer to CONNECT, and returns what came behind it. No error shows what the proxy says in words
// of its own: it may repeat what it was told.
func readAnswer(proxy io.Reader, target string, authorized bool) ([]byte, error) {
	limited := &io.LimitedReader{R: proxy, N: maxHeader}
	buffered := bufio.NewReader(limited)
	reader := textproto.NewReader(buffered)
	for {
		status, header, err := readHeader(reader)
		switch {
		case err != nil && limited.N <= 0:
			return nil, fmt.Errorf("its answer is longer than %d bytes", maxHeader)
		case err != nil:
			return nil, err
		case status >= 200 && status < 300:
			// RFC 9110: what follows the header is the tunnel's, whatever its fields say.
			early := make([]byte, buffered.Buffered())
			_, err := io.ReadFull(buffered, early)
			return early, err
		case status >= 200 || status == http.StatusSwitchingProtocols:
			return nil, refusal(status, header, target, authorized)
		}
	}
}

func readHeader(reader *textproto.Reader) (status int, header textproto.MIMEHeader, err error) {
	line, err := reader.ReadLine()
	if err != nil {
		return 0, nil, unreadable(err)
	}
	protocol, rest, _ := strings.Cut(line, " ")
	code, _, _ := strings.Cut(rest, " ")
	status, err = strconv.Atoi(code)
	if err != nil || len(code) != 3 || status < 100 || !strings.HasPrefix(protocol, "HTTP/1.") {
		return 0, nil, errors.New("its answer is not HTTP/1: if it speaks TLS, its URL begins with https://")
	}
	header, err = reader.ReadMIMEHeader()
	if err != nil {
		return 0, nil, unreadable(err)
	}
	return status, header, nil
}

func unreadable(err error) error {
	var protocol textproto.ProtocolError
	var network net.Error
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("it ends the connection before its answer is complete")
	case errors.As(err, &protocol):
		return errors.New("its answer has a header that is none")
	case errors.As(err, &network):
		return fmt.Errorf("it does not answer: %w", err)
	}
	return errors.New("its answer cannot be read")
}

// Refusal is a proxy's answer that opens no tunnel.
type Refusal struct {
	Status  int
	Schemes []string // of authentication that it offers, if Basic is none of them
	Cause   string   // see [Cause]
	why     string
}

func (r *Refusal) Error() string {
	return fmt.Sprintf("%s: %s", strings.TrimSpace(fmt.Sprint(r.Status, " ", http.StatusText(r.Status))), r.why)
}

// refusal says why there is no way, as far as the status tells.
func refusal(status int, header textproto.MIMEHeader, target string, authorized bool) *Refusal {
	r := &Refusal{Status: status, Cause: Cause(header)}
	switch status {
	case http.StatusProxyAuthRequired:
		r.why = "it wants a user and a password, and its URL has none"
		if authorized {
			r.why = "it does not accept the user or the password"
		}
		if r.Schemes = offered(header); len(r.Schemes) > 0 {
			r.why += "; it offers " + strings.Join(r.Schemes, ", ") + ", and this relay knows Basic alone"
		}
	case http.StatusForbidden:
		r.why = fmt.Sprintf("it does not let this user connect to %s: many proxies allow port 443 alone", target)
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		r.why = fmt.Sprintf("it does not reach %s", target)
	default:
		r.why = "it does not open a tunnel"
	}
	return r
}

// offered returns the schemes of Proxy-Authenticate, if Basic is not one of them, and as far as this package knows them.
func offered(header textproto.MIMEHeader) []string {
	var schemes []string
	for _, value := range header.Values("Proxy-Authenticate") {
		scheme, _, _ := strings.Cut(value, " ")
		for _, known := range []string{"Basic", "Digest", "Negotiate", "NTLM", "Bearer"} {
			if strings.EqualFold(scheme, known) {
				schemes = append(schemes, known)
			}
		}
	}
	if slices.Contains(schemes, "Basic") {
		return nil
	}
	return schemes
}

var (
	squidError  = regexp.MustCompile(`^(ERR_[A-Z0-9_]{1,40})( |$)`)
	proxyStatus = regexp.MustCompile(`^[^;,"]{1,100};[ a-z0-9=_;-]*error=([a-z_]{1,40})(?:; details="([A-Za-z0-9-]{1,30})")?`)
)

// RelayCause begins a cause that a relay of ours gives. After it stands what the company's proxy said, or nothing.
const RelayCause = "fairlead-relay: "

// Cause returns why a proxy refused a request: squid's error name, or the error of Proxy-Status (RFC 9209). For a relay of ours it
// returns what the relay says of the company's proxy. It takes only such fixed words, since other text may repeat what the
// request had, such as credentials. It returns "" if the header names no cause: then the answer may come from a server behind the proxy.
func Cause(header map[string][]string) string {
	for _, value := range header["X-Squid-Error"] {
		if match := squidError.FindStringSubmatch(value); match != nil {
			return match[1]
		}
	}
	for _, value := range header["Proxy-Status"] {
		match := proxyStatus.FindStringSubmatch(value)
		switch {
		case match == nil:
		case strings.HasPrefix(value, "fairlead-relay;"):
			return RelayCause + match[2]
		default:
			return match[1]
		}
	}
	return ""
}
