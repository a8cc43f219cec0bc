package ports_test

import (
	"net"
	"testing"

	"github.com/fairlead-io/fairlead/e2e/ports"
)

func TestAReservedPortCanBeListenedOnAndIsNotHandedOutTwice(t *testing.T) {
	seen := make(map[int]bool)
	for range 500 {
		port, err := ports.Reserve()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = port.Release() })
		if seen[port.Number] {
			t.Fatalf("port %d was handed out twice", port.Number)
		}
		seen[port.Number] = true
		listener, err := net.Listen("tcp", port.Address())
		if err != nil {
			t.Fatal(err)
		}
		_ = listener.Close()
	}
}
