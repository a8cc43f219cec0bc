package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/machine"
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
		addresses = append(addresses, fmt.Sprintf("192.168.52.%d", 100+i))
	}
	conn, err := l.Dial(t.Context(), machine.Corp, relayAt)
	controlplanetest.Require(t, err)
	defer conn.Close() //nolint:errcheck // the tunnel has served
	reader := bufio.NewReader(conn)
	controlplanetest.Require(t, openOn(conn, reader))
	clients, err := l.clients(t.Context(), load{What: "hostile", Clients: hostileConnections, Seconds: hostileSeconds, Proxy: relayAt, Sources: addresses})
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
		controlplanetest.Require(t, conn.SetDeadline(time.Now().Add(soakPatience)))
		if err := askThrough(conn, reader, small); err != nil {
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
