package node_test

import (
	"bufio"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/machine"
	"github.com/fairlead-io/fairlead/e2e/machine/machinetest"
)

const (
	user     = "spoke"
	password = "first"
)

func TestSquidEndsAnIdleTunnel(t *testing.T) {
	network := machinetest.Network(t)
	squid, err := network.StartSquid(t.Context(), machine.SquidOptions{
		User: user, Password: password, Ports: []int{7000}, ReadTimeout: 2 * time.Second,
	})
	controlplanetest.Require(t, err)
	listener := machinetest.Listen(t, network, machine.Internet, net.JoinHostPort(machine.HubAddress, "7000"))
	machinetest.Accept(t, listener, func(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) }) // it says nothing

	conn, err := network.Dial(t.Context(), machine.Corp, net.JoinHostPort(machine.ProxyAddress, strconv.Itoa(machine.ProxyPort)))
	controlplanetest.Require(t, err)
	defer conn.Close() //nolint:errcheck // squid has closed it, or the test fails
	controlplanetest.Require(t, conn.SetDeadline(time.Now().Add(time.Minute)))
	const hub = machine.HubName + ":7000"
	_, err = fmt.Fprintf(conn, "CONNECT %[1]s HTTP/1.1\r\nHost: %[1]s\r\nProxy-Authorization: Basic %[2]s\r\n\r\n", hub,
		base64.StdEncoding.EncodeToString([]byte(user+":"+password)))
	controlplanetest.Require(t, err)
	reader := bufio.NewReader(conn)
	answer, err := http.ReadResponse(reader, &http.Request{Method: http.MethodConnect})
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("squid answers %+v (%v)", answer, err)
	}
	if said, err := io.ReadAll(reader); err != nil || len(said) > 0 {
		t.Errorf("the tunnel has not ended, or with words: %q (%v)", said, err)
	}
	controlplanetest.Await(t, "the tunnel in squid's log", func(context.Context) (bool, error) {
		requests, err := squid.Requests()
		controlplanetest.Require(t, err)
		tunnel := machine.Request{User: user, Method: "CONNECT", Target: hub, Status: 200}
		return controlplanetest.Holds(slices.Contains(requests, tunnel), "it has %+v", requests)
	})
}
