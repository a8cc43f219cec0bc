package forward

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/fairlead-io/fairlead/internal/workload/headers"
	"github.com/fairlead-io/fairlead/internal/workload/upstream"
)

// The bytes behind a request for WebSocket are of that protocol, and so are all later ones.
func TestWhatFollowsAnUpgradeReachesTheDestination(t *testing.T) {
	conn := talking(t, func(conn net.Conn) {
		reader := bufio.NewReader(conn)
		if _, err := http.ReadRequest(reader); err != nil {
			return
		}
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
		_, _ = io.Copy(conn, reader)
	})
	fmt.Fprint(conn, "GET http://example.com/ HTTP/1.1\r\nHost: example.com\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nearly, ")
	reader := bufio.NewReader(conn)
	answer, err := http.ReadResponse(reader, nil)
	if err != nil || answer.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("%v, %v", answer, err)
	}
	fmt.Fprint(conn, "late")
	if half, ok := conn.(*net.TCPConn); ok {
		_ = half.CloseWrite()
	}
	if back, err := io.ReadAll(reader); err != nil || string(back) != "early, late" {
		t.Errorf("%q, %v", back, err)
	}
}

// upgrades answers each request with 101, and says what it was.
func upgrades(protocol string, then func(conn net.Conn, reader *bufio.Reader, request *http.Request)) func(net.Conn) {
	return func(conn net.Conn) {
		reader := bufio.NewReader(conn)
		request, err := http.ReadRequest(reader)
		if err != nil {
			return
		}
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: "+protocol+"\r\n\r\n")
		then(conn, reader, request)
	}
}

const asksWebSocket = "Host: example.com\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"

// Without Connection, Upgrade asks for nothing (RFC 9110, section 7.8). With a body, the body's end would be the beginning of the
// other protocol, and whoever still reads the one takes the other.
func TestWhatDoesNotAskForAnUpgradeIsNotUpgraded(t *testing.T) {
	for _, request := range []string{
		"POST http://example.com/ HTTP/1.1\r\n" + asksWebSocket + "Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n",
		"POST http://example.com/ HTTP/1.1\r\n" + asksWebSocket + "Content-Length: 10\r\n\r\na",
		"GET http://example.com/ HTTP/1.1\r\nHost: example.com\r\nUpgrade: websocket\r\n\r\n",
	} {
		asked := make(chan string, 1)
		conn := talking(t, upgrades("websocket", func(_ net.Conn, _ *bufio.Reader, request *http.Request) { asked <- request.Header.Get("Upgrade") }))
		fmt.Fprint(conn, request)
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil || answer.StatusCode != http.StatusBadGateway {
			t.Errorf("%q: %v, %v", request, answer, err)
		}
		if upgrade := <-asked; upgrade != "" {
			t.Errorf("%q: the destination is asked for %q", request, upgrade)
		}
	}
}

// Else the connection to the proxy stays open, and nothing counts it.
func TestAnUpgradeToSomethingElseEndsTheConnection(t *testing.T) {
	ended := make(chan struct{})
	url := "http://corp:p@" + accepting(t, upgrades("other", func(_ net.Conn, reader *bufio.Reader, _ *http.Request) {
		_, _ = io.Copy(io.Discard, reader)
		close(ended)
	}))
	s := start(t, map[string]string{upstream.HTTPFile: url, upstream.HTTPSFile: url}, nil)
	if status, _, _ := raw(t, s.Listener.Addr().String(), "GET http://example.com/ HTTP/1.1\r\n"+asksWebSocket+"\r\n"); status != http.StatusBadGateway {
		t.Error(status)
	}
	<-ended
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if len(s.outcomes) != 1 || s.outcomes[0][1] != "failed" {
		t.Errorf("%v", s.outcomes)
	}
}

// They are no fields of a header.
func TestLinesOfAnotherProtocolArrive(t *testing.T) {
	const lines = 3 * headers.MaxFields
	conn := talking(t, upgrades("websocket", func(conn net.Conn, _ *bufio.Reader, _ *http.Request) {
		for range lines {
			_, _ = io.WriteString(conn, "line\n")
		}
	}))
	fmt.Fprint(conn, "GET http://example.com/ HTTP/1.1\r\n"+asksWebSocket+"\r\n")
	reader := bufio.NewReader(conn)
	if answer, err := http.ReadResponse(reader, nil); err != nil || answer.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("%v, %v", answer, err)
	}
	if all, err := io.ReadAll(reader); err != nil || len(all) != lines*len("line\n") {
		t.Errorf("%d bytes, %v", len(all), err)
	}
}

// It is no failure of the company's proxy.
func TestABodyThatIsNotFramedIsTheClientsFault(t *testing.T) {
	for _, chunks := range []string{"0x3\r\nabc\r\n0\r\n\r\n", "3\r\nabcGET\r\n0\r\n\r\n", "100000000000000000\r\nabc\r\n0\r\n\r\n", "3;\nabc\r\n0\r\n\r\n"} {
		conn := talking(t, func(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) })
		fmt.Fprint(conn, "POST http://example.com/ HTTP/1.1\r\nHost: example.com\r\nTransfer-Encoding: chunked\r\n\r\n"+chunks)
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil || answer.StatusCode != http.StatusBadRequest {
			t.Errorf("%q: %v, %v", chunks, answer, err)
		}
	}
}
