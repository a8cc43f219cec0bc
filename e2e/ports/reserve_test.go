package ports

import (
	"net"
	"runtime"
	"testing"
)

func TestAPortIsNotFreeIfSomebodyListensAtAnyAddress(t *testing.T) {
	for _, address := range []string{"127.0.0.1", "127.0.0.2", ""} {
		port, err := Reserve()
		if err != nil {
			t.Fatal(err)
		}
		listener, err := net.Listen("tcp", net.JoinHostPort(address, port.String()))
		if err != nil {
			t.Fatal(err)
		}
		if err := port.Release(); err != nil {
			t.Fatal(err)
		}
		if taken := reserve(port.Number); taken != nil {
			t.Errorf("port %d is handed out with a listener at %q", port.Number, address)
		}
		_ = listener.Close()
	}
}

// Most tests keep the address alone.
func TestAPortStaysReservedWithoutItsOwner(t *testing.T) {
	number := func() int {
		port, err := Reserve()
		if err != nil {
			t.Fatal(err)
		}
		return port.Number
	}()
	for range 3 {
		runtime.GC()
	}
	if taken := reserve(number); taken != nil {
		t.Errorf("port %d is handed out twice", number)
	}
}
