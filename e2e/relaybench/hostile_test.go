package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/machine"
	"github.com/fairlead-io/fairlead/e2e/process"
)

// TestMain: the destination and the clients are this program, too.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && (os.Args[1] == "serve" || os.Args[1] == "load") {
		if err := run(context.Background(), os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

const (
	hostileConnections = 9000
	hostileSources     = 14 // the limit of one address is two ninths
	hostileSeconds     = 45
)

// A relay with the chart's memory, and three times as many hostile connections as it takes, of all kinds: nobody ends it, and a
// tunnel that was open goes on. It takes a minute.
func TestHostileConnectionsStayWithinTheChartsMemory(t *testing.T) {
	limit, err := chartsMemory()
	controlplanetest.Require(t, err)
	controlplanetest.Require(t, inLab(t.Context(), func(l *lab) error {
		if l.memory, err = l.NewMemory(limit); err != nil {
			return err
		}
		if err := l.startSquid(t.Context()); err != nil {
			return err
		}
		if err := l.startRelay(t.Context(), ""); err != nil {
			return err
		}
		l.besiege(t, limit)
		return nil
	}))
}

func (l *lab) besiege(t *testing.T, limit int64) {
	t.Helper()
	var addresses []string
	for i := range hostileSources {
		address := fmt.Sprintf("192.168.52.%d", 100+i)
		addresses = append(addresses, address)
		_, err := l.Run(t.Context(), machine.Corp, nil, "ip", "address", "add", address+"/24", "dev", "eth0")
		controlplanetest.Require(t, err)
	}
	conn, err := l.Dial(t.Context(), machine.Corp, relayAt)
	controlplanetest.Require(t, err)
	defer conn.Close() //nolint:errcheck // the tunnel has served
	open := tunnelOn(t, conn)

	text, err := json.Marshal(load{What: "hostile", Clients: hostileConnections, Seconds: hostileSeconds, Proxy: relayAt, Sources: addresses})
	controlplanetest.Require(t, err)
	clients, err := l.Start(t.Context(), machine.Corp, process.Spec{Name: "hostile", Path: l.self, Args: []string{"load", string(text)}})
	controlplanetest.Require(t, err)
	var most usage
	for ended := false; !ended; {
		select {
		case <-clients.Done():
			ended = true
		case <-l.relay.Done():
			log, _ := l.relay.Log()
			t.Fatalf("the relay has ended:\n%s", log)
		case <-time.After(time.Second):
		}
		if err := open(); err != nil {
			t.Fatalf("through the tunnel that was open: %v", err)
		}
		now, err := l.usage()
		controlplanetest.Require(t, err)
		most.resident, most.descriptors = max(most.resident, now.resident), max(most.descriptors, now.descriptors)
	}
	controlplanetest.Require(t, clients.Wait(t.Context()))
	peak, killed, err := l.memory.Peak()
	controlplanetest.Require(t, err)
	t.Logf("%d MiB resident, %d MiB of the control group's %d, %d descriptors", most.resident>>10, peak>>20, limit>>20, most.descriptors)
	if killed > 0 || peak >= limit {
		t.Errorf("%d bytes of %d, and %d were killed", peak, limit, killed)
	}
	if taken := int(limit) / 4 * 3 / (128 << 10); most.descriptors < taken {
		t.Errorf("%d descriptors: fewer than the %d connections that it takes", most.descriptors, taken)
	}
	controlplanetest.Await(t, "a request after the siege", func(ctx context.Context) (bool, error) {
		_, err := l.load(ctx, load{What: "CONNECT", Clients: 1, Proxy: relayAt, Seconds: 1})
		return err == nil, err
	})
}

// tunnelOn opens a tunnel, and returns what asks through it.
func tunnelOn(t *testing.T, conn net.Conn) (request func() error) {
	t.Helper()
	_, err := fmt.Fprintf(conn, "CONNECT %[1]s HTTP/1.1\r\nHost: %[1]s\r\n\r\n", destination)
	controlplanetest.Require(t, err)
	reader := bufio.NewReader(conn)
	answer, err := http.ReadResponse(reader, &http.Request{Method: http.MethodConnect})
	controlplanetest.Require(t, err)
	if answer.StatusCode != http.StatusOK {
		t.Fatal(answer.Status)
	}
	return func() error {
		if err := conn.SetDeadline(time.Now().Add(soakPatience)); err != nil {
			return err
		}
		return ask(conn, reader, fmt.Sprintf("GET /%d HTTP/1.1\r\nHost: %s\r\n\r\n", small, destination))
	}
}
