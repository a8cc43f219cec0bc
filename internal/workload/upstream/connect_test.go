package upstream

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

func TestAnAnswerThatOpensNoTunnelIsPutIntoWords(t *testing.T) {
	const end = "\r\n\r\n"
	for name, row := range map[string]struct {
		answer     string
		authorized bool
		want       string
	}{
		"wrong credentials":          {"HTTP/1.1 407 S3CRET\r\nProxy-Authenticate: Basic realm=S3CRET" + end, true, "407 Proxy Authentication Required: it does not accept the user or the password"},
		"no credentials":             {"HTTP/1.1 407 \r\nProxy-Authenticate: basic" + end, false, "407 Proxy Authentication Required: it wants a user and a password, and its URL has none"},
		"others than Basic":          {"HTTP/1.1 407 x\r\nProxy-Authenticate: Negotiate\r\nProxy-Authenticate: NTLM\r\nProxy-Authenticate: S3CRET" + end, true, "407 Proxy Authentication Required: it does not accept the user or the password; it offers Negotiate, NTLM, and this relay knows Basic alone"},
		"a port that is not allowed": {"HTTP/1.1 403 Forbidden" + end + "S3CRET", true, "403 Forbidden: it does not let this user connect to hub.invalid:8091: many proxies allow port 443 alone"},
		"no way further":             {"HTTP/1.0 503 Service Unavailable" + end, true, "503 Service Unavailable: it does not reach hub.invalid:8091"},
		"a redirection":              {"HTTP/1.1 302 S3CRET\r\nLocation: http://S3CRET" + end, true, "302 Found: it does not open a tunnel"},
		"another protocol":           {"HTTP/1.1 101 S3CRET" + end, true, "101 Switching Protocols: it does not open a tunnel"},
		"a status of its own":        {"HTTP/1.1 999 S3CRET" + end, true, "999: it does not open a tunnel"},
		"nothing":                    {"", true, "it ends the connection before its answer is complete"},
		"half a header":              {"HTTP/1.1 200 OK\r\nS3CRET: ", true, "it ends the connection before its answer is complete"},
		"half a header of a refusal": {"HTTP/1.1 407 S3CRET\r\n", true, "it ends the connection before its answer is complete"},
		"a header that is none":      {"HTTP/1.1 200 OK\r\nS3CRET" + end, true, "its answer has a header that is none"},
		"HTTP/2":                     {"HTTP/2 200 S3CRET" + end, true, "its answer is not HTTP/1: if it speaks TLS, its URL begins with https://"},
		"an alert of TLS":            {"\x15\x03\x01\x00\x02\x02\x46\n", true, "its answer is not HTTP/1: if it speaks TLS, its URL begins with https://"},
		"another program":            {"SSH-2.0-S3CRET\r\n", true, "its answer is not HTTP/1: if it speaks TLS, its URL begins with https://"},
		"a status that is none":      {"HTTP/1.1 +20 OK" + end, true, "its answer is not HTTP/1: if it speaks TLS, its URL begins with https://"},
		"an enormous line":           {"HTTP/1.1 200 " + strings.Repeat("S3CRET", 1<<20), true, "its answer is longer than 16384 bytes"},
		"enormous headers":           {"HTTP/1.1 200 OK\r\n" + strings.Repeat("S3CRET: S3CRET\r\n", 1<<16), true, "its answer is longer than 16384 bytes"},
		"interim answers for ever":   {strings.Repeat("HTTP/1.1 100 Continue"+end, 1<<16), true, "its answer is longer than 16384 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, reader := range []io.Reader{strings.NewReader(row.answer), iotest.OneByteReader(strings.NewReader(row.answer))} {
				if _, err := readAnswer(reader, "hub.invalid:8091", row.authorized); err == nil || err.Error() != row.want {
					t.Errorf("%v\nnot %s", err, row.want)
				}
			}
		})
	}
}

func FuzzReadAnswer(f *testing.F) {
	for _, seed := range []string{
		"", "HTTP/1.1 200 Connection established\r\n\r\n", "HTTP/1.0 200\n\nhello", "HTTP/1.1 100 \r\n\r\nHTTP/1.1 204 \r\nA: b\r\n c\r\n\r\n\r\n",
		"HTTP/1.1 407 no\r\nProxy-Authenticate: NTLM\r\n\r\n", "HTTP/1.1 403 \r\n:\r\n\r\n", "\x15\x03\x01",
	} {
		f.Add([]byte(seed), 3)
	}
	f.Fuzz(func(t *testing.T, answer []byte, piece int) {
		proxy := &pieces{rest: answer, size: max(1, piece)}
		early, err := readAnswer(proxy, "hub.invalid:8091", true)
		// All that was read is the answer or the tunnel's.
		tunnelled := slices.Concat(early, proxy.rest)
		if err == nil && !bytes.HasSuffix(answer, tunnelled) {
			t.Fatalf("%q becomes %q", answer, tunnelled)
		}
		if header := answer[:len(answer)-len(tunnelled)]; err == nil && !bytes.HasSuffix(header, []byte("\n\n")) && !bytes.HasSuffix(header, []byte("\n\r\n")) {
			t.Fatalf("%q ends in the middle of a line", header)
		}
		// However it comes, it means the same.
		_, wholeErr := readAnswer(bytes.NewReader(answer), "hub.invalid:8091", true)
		if (err == nil) != (wholeErr == nil) {
			t.Fatalf("in pieces: %v; at once: %v", err, wholeErr)
		}
		if len(answer)-len(proxy.rest) > maxHeader {
			t.Fatalf("%d bytes were read", len(answer)-len(proxy.rest))
		}
		if err != nil && strings.ContainsFunc(err.Error(), func(r rune) bool { return r < ' ' || r > '~' }) {
			t.Fatalf("%q", err)
		}
	})
}

// pieces gives so many bytes at a time.
type pieces struct {
	rest []byte
	size int
}

func (p *pieces) Read(into []byte) (int, error) {
	if len(p.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(into, p.rest[:min(p.size, len(p.rest))])
	p.rest = p.rest[n:]
	return n, nil
}

func TestAReadThatFailsIsNoEnd(t *testing.T) {
	failure := errors.New("S3CRET")
	if _, err := readAnswer(iotest.ErrReader(failure), "hub.invalid:8091", true); err == nil || err.Error() != "its answer cannot be read" {
		t.Error(err)
	}
}
