package pipe

import (
	"net"
	"testing"
	"time"
)

func TestWhoHasGoneIsSeenWithoutReading(t *testing.T) {
	for name, goes := range map[string]func(*net.TCPConn){
		"closed":      func(c *net.TCPConn) { _ = c.Close() },
		"half-closed": func(c *net.TCPConn) { _ = c.CloseWrite() },
		"reset":       func(c *net.TCPConn) { _ = c.SetLinger(0); _ = c.Close() },
	} {
		near, far := connected(t)
		if _, err := far.Write([]byte("unread")); err != nil {
			t.Fatal(err)
		}
		if Gone(near) {
			t.Errorf("%s: it was gone before", name)
		}
		goes(far)
		for end := time.Now().Add(20 * time.Second); !Gone(near); { // it is on its way
			if time.Now().After(end) {
				t.Fatalf("%s: it is not seen within 20 s", name)
			}
		}
	}
}
