package lab

import (
	"fmt"
	"net"
	"net/netip"
	"strings"

	"golang.org/x/net/dns/dnsmessage"
)

var (
	// Elsewhere is the address of every name that has no better one. No list should
	// cover it: Ruby compares resolved addresses.
	Elsewhere = netip.AddrFrom4([4]byte{203, 0, 113, 1})
	loopback4 = netip.AddrFrom4([4]byte{127, 0, 0, 1})
)

// Resolve returns the address of a name in the lab. There are no IPv6 ones.
func Resolve(name string) netip.Addr {
	name = strings.TrimSuffix(strings.ToLower(name), ".")
	if name == "localhost" || name == "localhost.localdomain" || strings.HasSuffix(name, ".localhost") {
		return loopback4
	}
	if address, found := strings.CutPrefix(name, "resolves-to-"); found {
		address, _, _ = strings.Cut(address, ".")
		if address == "loopback" {
			return loopback4
		}
		if addr, err := netip.ParseAddr(strings.ReplaceAll(address, "-", ".")); err == nil {
			return addr
		}
	}
	return Elsewhere
}

func serveNames(address string) error {
	conn, err := net.ListenPacket("udp4", address)
	if err != nil {
		return fmt.Errorf("listen as the name server: %w", err)
	}
	go func() {
		buffer := make([]byte, 4096)
		for {
			n, client, err := conn.ReadFrom(buffer)
			if err != nil {
				return
			}
			if answer, err := answerTo(buffer[:n]); err == nil {
				_, _ = conn.WriteTo(answer, client)
			}
		}
	}()
	return nil
}

// answerTo answers a question for A records; for others it says that there are none.
func answerTo(query []byte) ([]byte, error) {
	var message dnsmessage.Message
	if err := message.Unpack(query); err != nil {
		return nil, err
	}
	message.Response, message.RecursionAvailable, message.Authoritative = true, true, true
	message.Additionals = nil
	for _, question := range message.Questions {
		if question.Type != dnsmessage.TypeA {
			continue
		}
		message.Answers = append(message.Answers, dnsmessage.Resource{
			Header: dnsmessage.ResourceHeader{Name: question.Name, Type: question.Type, Class: question.Class},
			Body:   &dnsmessage.AResource{A: Resolve(question.Name.String()).As4()},
		})
	}
	return message.Pack()
}
