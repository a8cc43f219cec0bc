package lab

import (
	"bufio"
	"crypto/tls"
	"encoding/base64"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"
)

var proxies = map[string]string{
	"127.0.0.1:3128": "proxy A",
	"127.0.0.1:3129": "proxy B",
	"[::1]:3128":     "proxy v6",
}

// First bytes that tell protocols apart.
const (
	socks4    = 0x04
	socks5    = 0x05
	handshake = 0x16 // of TLS
)

// peer is a client's connection, and the bytes of it that were read ahead.
type peer struct {
	net.Conn
	*bufio.Reader
}

func (p peer) Read(b []byte) (int, error) { return p.Reader.Read(b) }

func (l *Lab) serve(conn net.Conn) {
	defer conn.Close() //nolint:errcheck // of a client that is gone
	_ = conn.SetDeadline(time.Now().Add(patience))
	p := peer{conn, bufio.NewReader(conn)}
	address, _ := netip.ParseAddrPort(conn.LocalAddr().String())
	contact := Contact{Address: address, Proxy: proxies[address.String()]}
	first, err := p.Peek(1)
	switch {
	case contact.Proxy == "":
		l.heard(contact)
		l.playTarget(p)
	case err != nil: // it thought better of it
		l.left()
	case first[0] == handshake:
		contact.How = "tls"
		l.heard(contact)
	case first[0] == socks4:
		contact.How = "socks4"
		l.heard(contact)
		l.afterSocks4(p)
	case first[0] == socks5:
		how, ready := negotiateSocks5(p)
		contact.How = how
		l.heard(contact)
		if ready {
			l.playTarget(p)
		}
	default:
		l.playHTTPProxy(p, contact)
	}
}

// playHTTPProxy notes the request, and is the target itself.
func (l *Lab) playHTTPProxy(p peer, contact Contact) {
	request, err := http.ReadRequest(p.Reader)
	if err != nil {
		contact.How = "unreadable: " + err.Error()
		l.heard(contact)
		return
	}
	switch {
	case request.Method == http.MethodConnect:
		contact.How = "CONNECT"
	case strings.Contains(request.RequestURI, "://"):
		contact.How = "http"
	default:
		contact.How = "request without a host"
	}
	contact.How += credentials(request.Header)
	l.heard(contact)
	if request.Method == http.MethodConnect {
		_, _ = io.WriteString(p, "HTTP/1.1 200 Connected\r\n\r\n")
		l.playTarget(p)
		return
	}
	answer(p, request)
}

// credentials shows those of a request to a proxy; a character for each byte.
func credentials(header http.Header) string {
	value := header.Get("Proxy-Authorization")
	if value == "" {
		return ""
	}
	scheme, encoded, _ := strings.Cut(value, " ")
	bytes, err := base64.StdEncoding.DecodeString(strings.TrimSpace(encoded))
	if err != nil || !strings.EqualFold(scheme, "basic") {
		return " auth?=" + value
	}
	return " auth=" + latin1(bytes)
}

func latin1(bytes []byte) string {
	runes := make([]rune, len(bytes))
	for i, b := range bytes {
		runes[i] = rune(b)
	}
	return string(runes)
}

// playTarget answers one request, over TLS if the client begins with that.
func (l *Lab) playTarget(p peer) {
	first, err := p.Peek(1)
	if err != nil {
		return
	}
	if first[0] == handshake {
		conn := tls.Server(p, &tls.Config{Certificates: []tls.Certificate{l.certificate}})
		p = peer{conn, bufio.NewReader(conn)}
	}
	if request, err := http.ReadRequest(p.Reader); err == nil {
		answer(p, request)
	}
}

func answer(p peer, request *http.Request) {
	text := "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 3\r\nConnection: close\r\n\r\n"
	if request.Method != http.MethodHead {
		text += "ok\n"
	}
	_, _ = io.WriteString(p, text)
	if closer, ok := p.Conn.(interface{ CloseWrite() error }); ok {
		_ = closer.CloseWrite() // a reset would take the answer away from a client that still sends
		_, _ = io.Copy(io.Discard, p)
	}
}
