package relay

import (
	"fmt"
	"io"
	"net"
	"testing"
)

// Agent, proxy and hub are in the same process: what they take is in the figures.

func BenchmarkBytes(b *testing.B) {
	for _, withTLS := range []bool{false, true} {
		b.Run(fmt.Sprintf("TLS=%t", withTLS), func(b *testing.B) {
			proxy := newCompany(b, withTLS, serve(b, func(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) }))
			s := start(b, settings(b, proxy.url(userinfo()), proxy.ca()), nil)
			agent := s.dial(b)
			said := make([]byte, 64<<10)
			b.SetBytes(int64(len(said)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := agent.Write(said); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkConnection(b *testing.B) {
	for _, withTLS := range []bool{false, true} {
		b.Run(fmt.Sprintf("TLS=%t", withTLS), func(b *testing.B) {
			proxy := newCompany(b, withTLS, serve(b, echo))
			s := start(b, settings(b, proxy.url(userinfo()), proxy.ca()), nil)
			b.ReportAllocs()
			for b.Loop() {
				if answer, err := s.exchange(b, "a"); answer != "a." {
					b.Fatalf("%q (%v)", answer, err)
				}
			}
		})
	}
}
