package fabric_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/machine"
	"github.com/fairlead-io/fairlead/e2e/tier"
)

const nothingDirect = "serviceDomain: cluster.local\nsources: [10.244.0.0/16]\n"

func TestPodsOnTheRelay(t *testing.T) {
	f := newFabric(t)
	first, client := f.wire(system, "relay-1"), f.wire("shop", "web")
	first.startRelay(nothingDirect, "--drain-delay=5s", "--grace-period=5s")
	first.publish("fairlead-relay")
	t.Run("ShortNames", func(t *testing.T) { testShortNames(t, f, client) })
	t.Run("Never", func(t *testing.T) { testNever(t, f, client) })
	t.Run("Rotation", func(t *testing.T) { testRotation(t, f, client) })
	t.Run("WrongPassword", func(t *testing.T) { tier.Full(t); testWrongPassword(t, f, client) })
	t.Run("Upgrade", func(t *testing.T) { tier.Full(t); testUpgrade(t, f, first, client) })
}

// A short name is refused by what to write, and leads to the Service where its namespace is opted in.
func testShortNames(t *testing.T, f *fabric, client *pod) {
	t.Helper()
	for _, namespace := range []string{"shop", "other"} {
		backend := f.wire(namespace, "backend-"+namespace)
		f.serve(backend.listen(8080), "backend of "+namespace)
		f.newService(namespace, "backend", 80, 8080)
		backend.publish("backend")
	}
	said, err := f.network.Run(t.Context(), client.network(), variables("shop"), "curl", "-sS", "-w", " %{http_code}", "http://backend/")
	if err != nil || !strings.Contains(string(said), "write backend.shop.svc") || !strings.HasSuffix(string(said), " 403") {
		t.Errorf("%s, %v", said, err)
	}
	opened := f.wire(system, "relay-opened")
	opened.startRelay(nothingDirect + "direct: {namespaces: [shop, other]}\n")
	for name, want := range map[string]string{"backend": "backend of shop 200", "backend.other.svc": "backend of other 200"} {
		out, err := f.network.Run(t.Context(), client.network(), nil, "curl", "-sS", "-w", " %{http_code}", "-x", "http://shop@"+opened.address+":3128", "http://"+name+"/")
		if err != nil || string(out) != want {
			t.Errorf("%s, opted in: %s, %v", name, out, err)
		}
	}
}

// What no pod reaches through a relay, whatever is opted in: by names and addresses of this cluster. The others are in core/egress.
func testNever(t *testing.T, f *fabric, client *pod) {
	t.Helper()
	relay := f.wire(system, "relay-open")
	relay.startRelay("serviceDomain: cluster.local\nsources: [10.244.0.0/16]\n" +
		"direct: {networks: [0.0.0.0/0, '::/0'], domains: [corp.example, svc, local], namespaces: [default, shop]}\n")
	for host, want := range map[string]string{
		"[::1]": "Loopback", "loopback.corp.example": "Loopback",
		"169.254.169.254": "Metadata", "metadata.corp.example": "Metadata",
		machine.CorpAddress: "Denied", "node.corp.example": "Denied",
		api: "Denied", "kubernetes.default.svc": "Denied", "kubernetes.default": "Denied", "api.corp.example": "Denied",
	} {
		for _, kind := range []string{"CONNECT %[1]s:443 HTTP/1.1\r\nHost: %[1]s:443\r\n\r\n", "GET http://%[1]s/ HTTP/1.1\r\nHost: %[1]s\r\n\r\n"} {
			before := relay.counted(want)
			status, text := relay.answer(t, client.network(), fmt.Sprintf(kind, host))
			if status != http.StatusForbidden && status != http.StatusBadRequest || relay.counted(want) != before+1 {
				t.Errorf("%.7s %s: %d %q, counted as %s %d times", kind, host, status, text, want, relay.counted(want)-before)
			}
		}
	}
	before := relay.counted("Source")
	if status, text := relay.answer(t, machine.DMZ, "CONNECT registry.example:443 HTTP/1.1\r\nHost: registry.example:443\r\n\r\n"); status != http.StatusForbidden || relay.counted("Source") != before+1 {
		t.Errorf("from outside the networks: %d %q", status, text)
	}
	if status, _ := relay.answer(t, client.network(), "CONNECT registry.example:443 HTTP/1.1\r\nHost: registry.example:443\r\n\r\n"); status != http.StatusOK {
		t.Errorf("the internet: %d", status)
	}
}

// A second relay comes, and the first one goes, under load: no new request fails, and tunnels that end are counted. Then one
// is killed: what fails ends with its endpoint.
func testUpgrade(t *testing.T, f *fabric, first, client *pod) {
	t.Helper()
	under := client.load(4)
	var tunnels []net.Conn
	for range 5 {
		tunnels = append(tunnels, client.tunnel())
	}
	under.await(t, 50)

	second := f.wire(system, "relay-2")
	second.startRelay(nothingDirect, "--drain-delay=5s", "--grace-period=5s")
	second.publish("fairlead-relay")
	first.ends()
	controlplanetest.Require(t, syscall.Kill(-first.process.PID(), syscall.SIGTERM))
	first.awaitProgrammed(false)
	controlplanetest.Require(t, first.process.Wait(t.Context()))
	under.await(t, 50)
	under.noneFailed(t)
	ended := 0
	for _, tunnel := range tunnels {
		_ = tunnel.SetReadDeadline(time.Now().Add(time.Minute))
		if _, err := tunnel.Read(make([]byte, 1)); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			ended++
		}
	}
	if ended != len(tunnels) {
		t.Errorf("%d tunnels go on without a relay", len(tunnels)-ended)
	}

	third := f.wire(system, "relay-3")
	third.startRelay(nothingDirect)
	third.publish("fairlead-relay")
	second.process.Kill()
	second.fails()
	second.awaitProgrammed(false)
	under.awaitUnderWay(t)
	atEnd := under.failed.Load()
	under.await(t, 50)
	under.stop()
	if under.failed.Load() > atEnd {
		t.Errorf("%d failed after that", under.failed.Load()-atEnd)
	}
}

// answer sends a request to this relay itself.
func (p *pod) answer(t *testing.T, from machine.Namespace, request string) (status int, text string) {
	t.Helper()
	conn, err := p.fabric.network.Dial(t.Context(), from, p.address+":3128")
	controlplanetest.Require(t, err)
	defer conn.Close() //nolint:errcheck // it has been read
	_, err = io.WriteString(conn, request)
	controlplanetest.Require(t, err)
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	controlplanetest.Require(t, err)
	defer answer.Body.Close()
	if answer.StatusCode == http.StatusOK {
		return answer.StatusCode, ""
	}
	body, err := io.ReadAll(answer.Body)
	controlplanetest.Require(t, err)
	return answer.StatusCode, strings.TrimSpace(string(body))
}

// counted reads a metric.
func (p *pod) counted(reason string) int {
	out, err := p.fabric.network.Run(p.fabric.t.Context(), p.network(), nil, "curl", "-sS", "http://127.0.0.1:8099/metrics")
	controlplanetest.Require(p.fabric.t, err)
	for line := range strings.Lines(string(out)) {
		var count int
		if _, err := fmt.Sscanf(line, `fairlead_relay_requests_total{decision="refused",result="`+reason+`"} %d`, &count); err == nil {
			return count
		}
	}
	return 0
}
