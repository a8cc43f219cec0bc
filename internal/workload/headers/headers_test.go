package headers

import (
	"errors"
	"io"
	"net"
	"strings"
	"testing"
)

// read returns what a connection lets through of a text that comes in pieces of a size.
func read(t *testing.T, text string, size int, prepare func(*Conn)) (string, error) {
	t.Helper()
	near, far := net.Pipe()
	go func() {
		for len(text) > 0 {
			n := min(size, len(text))
			if _, err := io.WriteString(far, text[:n]); err != nil {
				return
			}
			text = text[n:]
		}
		_ = far.Close()
	}()
	conn := &Conn{Conn: near}
	prepare(conn)
	got, err := io.ReadAll(conn)
	_ = near.Close()
	return string(got), err
}

func TestFieldsAreCountedUntilTheHeaderEnds(t *testing.T) {
	fields := func(n int) string { return strings.Repeat("a:\r\n", n) }
	lines := strings.Repeat("line\n", 3*MaxFields)
	for name, one := range map[string]struct {
		text string
		fine bool
	}{
		"as many as may be":             {"GET / HTTP/1.1\r\n" + fields(MaxFields) + "\r\n", true},
		"one more":                      {"GET / HTTP/1.1\r\n" + fields(MaxFields+1) + "\r\n", false},
		"no end":                        {"GET / HTTP/1.1\r\n" + fields(MaxFields+1), false},
		"line feeds alone":              {"GET / HTTP/1.1\n" + strings.Repeat("a:\n", MaxFields+1), false},
		"a body":                        {"POST / HTTP/1.1\r\na: b\r\n\r\n" + lines, true},
		"a body after line feeds alone": {"POST / HTTP/1.1\na: b\n\n" + lines, true},
		"empty lines before":            {"\r\n\r\nGET / HTTP/1.1\r\n" + fields(MaxFields+1), false},
		"an answer's body":              {"HTTP/1.1 200 OK\r\na: b\r\n\r\n" + lines, true},
		"behind an informational one":   {"HTTP/1.1 103 Early Hints\r\na: b\r\n\r\nHTTP/1.1 200 OK\r\n" + fields(MaxFields+1), false},
		"behind one of two blanks":      {"HTTP/1.1  103 Early\r\na: b\r\n\r\nHTTP/1.1 200 OK\r\n" + fields(MaxFields+1), false}, // as net/http reads it
		"behind one of HTTP/2.0":        {"HTTP/2.0 103 Early\r\na: b\r\n\r\nHTTP/1.1 200 OK\r\n" + fields(MaxFields+1), false},
		"another protocol":              {"HTTP/1.1 101 Switching Protocols\r\na: b\r\n\r\n" + lines, true},
		"a status of one's own":         {"HTTP/1.1 999 Denied\r\na: b\r\n\r\n" + lines, true},
		"a body behind it":              {"HTTP/1.0 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n" + lines, true},
		"a field that is continued":     {"GET / HTTP/1.1\r\n" + strings.Repeat("a: b\r\n c\r\n", MaxFields/2+1), false},
	} {
		for _, size := range []int{1, 2, 7, len(one.text)} {
			got, err := read(t, one.text, size, (*Conn).Expect)
			if one.fine && (got != one.text || err != nil) || !one.fine && !errors.Is(err, ErrTooMany) {
				t.Errorf("%s, in pieces of %d: %d of %d bytes, %v", name, size, len(got), len(one.text), err)
			}
		}
	}
}

func TestWhatIsNoHeaderIsNotCounted(t *testing.T) {
	text := strings.Repeat("a:\r\n", 3*MaxFields)
	for name, prepare := range map[string]func(*Conn){
		"nothing is expected":    func(*Conn) {},
		"it has ended meanwhile": func(c *Conn) { c.Expect(); c.Ended() },
	} {
		if got, err := read(t, text, len(text), prepare); got != text || err != nil {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
	}
}
