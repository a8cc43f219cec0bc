package forward

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/fairlead-io/fairlead/internal/workload/upstream"
)

// An answer may come before all of a body has been read by everybody on its way: net/http ends the body when it writes the
// first byte of an answer, and with it the connection to the proxy, unless it is told not to.
func TestAnAnswerComesWhole(t *testing.T) {
	const size, asked, clients = 64 << 10, 150, 8
	url := "http://corp:p@" + accepting(t, func(conn net.Conn) {
		for reader := bufio.NewReader(conn); ; {
			request, err := http.ReadRequest(reader)
			if err != nil {
				return
			}
			if request.URL.Path == "/at-the-end" {
				_, _ = io.Copy(io.Discard, request.Body)
			}
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 1024\r\n\r\n")
			_, _ = io.WriteString(conn, strings.Repeat("a", 1024))
			_, _ = io.Copy(io.Discard, request.Body)
		}
	})
	s := start(t, map[string]string{upstream.HTTPFile: url, upstream.HTTPSFile: url}, nil)
	post := func(path string) error {
		conn, err := net.Dial("tcp", s.Listener.Addr().String())
		if err != nil {
			return err
		}
		defer conn.Close() //nolint:errcheck // of a test
		fmt.Fprintf(conn, "POST http://example.com%s HTTP/1.1\r\nHost: example.com\r\nContent-Length: %d\r\n\r\n%s", path, size, strings.Repeat("b", size))
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			return err
		}
		n, err := io.Copy(io.Discard, answer.Body)
		return errors.Join(err, answer.Body.Close(), map[bool]error{true: fmt.Errorf("%s, %d bytes", answer.Status, n)}[n != 1024])
	}
	for _, path := range []string{"/at-the-end", "/at-once"} {
		var all sync.WaitGroup
		for range clients {
			all.Go(func() {
				for range asked {
					if err := post(path); err != nil {
						t.Errorf("%s: %v", path, err)
						return
					}
				}
			})
		}
		all.Wait()
	}
}
