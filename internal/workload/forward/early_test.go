package forward

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
)

// What comes right behind a request for WebSocket is of that protocol, and so is what comes later.
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
	if half, is := conn.(*net.TCPConn); is {
		_ = half.CloseWrite()
	}
	if back, err := io.ReadAll(reader); err != nil || string(back) != "early, late" {
		t.Errorf("%q, %v", back, err)
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
