package pipe

import (
	"io"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// duplex is a connection in memory of which one direction can end.
type duplex struct {
	net.Conn // for what nobody calls
	in       *io.PipeReader
	out      *io.PipeWriter
}

func (d *duplex) Read(into []byte) (int, error)  { return d.in.Read(into) }
func (d *duplex) Write(text []byte) (int, error) { return d.out.Write(text) }
func (d *duplex) CloseWrite() error              { return d.out.Close() }

func (d *duplex) Close() error {
	_ = d.in.Close()
	return d.out.Close()
}

func joined() (one, other *duplex) {
	oneIn, otherOut := io.Pipe()
	otherIn, oneOut := io.Pipe()
	return &duplex{in: oneIn, out: oneOut}, &duplex{in: otherIn, out: otherOut}
}

// A client that has said all still gets what comes, however long it takes. Only silence ends it.
func TestAHalfClosedTunnelGoesOnWhileSomethingComes(t *testing.T) {
	const pieces, piece = 10, 1000
	synctest.Test(t, func(t *testing.T) {
		client, near := joined()
		far, destination := joined()
		done := make(chan Traffic, 1)
		go func() {
			done <- Both(t.Context(), End{Name: "client", Conn: near}, End{Name: "destination", Conn: far}, Linger)
		}()
		go func() {
			_, _ = client.Write([]byte("all"))
			_ = client.CloseWrite()
		}()
		var talking sync.WaitGroup
		talking.Go(func() {
			_, _ = io.ReadAll(destination)
			for range pieces {
				_, _ = destination.Write(make([]byte, piece))
				time.Sleep(Linger / 2)
			}
			time.Sleep(time.Hour)
			if _, err := destination.Write([]byte("late")); err == nil {
				t.Error("after an hour of silence, the tunnel is open")
			}
		})
		began := time.Now()
		said, err := io.ReadAll(client)
		if len(said) != pieces*piece || err != nil {
			t.Errorf("%d bytes, %v", len(said), err)
		}
		if took := time.Since(began); took > pieces*Linger/2+2*Linger {
			t.Errorf("it was open for %s", took)
		}
		if traffic := <-done; traffic.FromFirst != 3 || traffic.FromSecond != pieces*piece || traffic.Reason != "the client has ended it" {
			t.Errorf("%+v", traffic)
		}
		talking.Wait()
	})
}
