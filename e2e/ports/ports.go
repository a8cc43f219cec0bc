// Package ports hands out TCP ports on the loopback interface to programs that cannot pick one
// themselves. Test processes that run side by side never get the same one.
package ports

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
)

// The range lies below the ports that the kernel gives to outgoing connections (32768 and up on
// Linux): one of those could otherwise sit on the port of a server while that is being restarted. It
// also stays clear of 20000 to 30000, which Cluster API's in-memory provider takes.
const (
	first = 12000
	count = 8000
	tries = 200
)

// Port is reserved until it is released or this process ends, whoever still has it.
type Port struct {
	Number      int
	reservation net.PacketConn
}

// held keeps the reservations: the garbage collector closes sockets that nobody has any more.
var held sync.Map

// Reserve finds a port that nobody listens on and nobody else has reserved. The reservation is a bound
// UDP socket of the same number: it needs no file, leaves TCP free for the server, and the
// kernel drops it when this process dies. It holds for the machine, whatever checkout a test is of.
func Reserve() (*Port, error) {
	for range tries {
		if port := reserve(first + rand.IntN(count)); port != nil {
			return port, nil
		}
	}
	return nil, fmt.Errorf("no free port between %d and %d in %d tries", first, first+count-1, tries)
}

// reserve returns nil if the port is not free. A server may listen at all addresses, so nobody may at any.
func reserve(number int) *Port {
	reservation, err := net.ListenPacket("udp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(number)))
	if err != nil {
		return nil
	}
	listener, err := net.Listen("tcp", net.JoinHostPort("", strconv.Itoa(number)))
	if err == nil {
		err = listener.Close()
	}
	if err != nil {
		_ = reservation.Close()
		return nil
	}
	held.Store(number, reservation)
	return &Port{Number: number, reservation: reservation}
}

// Address is the host and port to listen on and to dial.
func (p *Port) Address() string { return net.JoinHostPort("127.0.0.1", p.String()) }

// String is the number, as command lines want it.
func (p *Port) String() string { return strconv.Itoa(p.Number) }

// Release gives the port back. The server must have stopped.
func (p *Port) Release() error {
	held.CompareAndDelete(p.Number, p.reservation)
	return p.reservation.Close()
}
