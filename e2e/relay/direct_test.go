package relay_test

import (
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"strconv"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/machine"
	"github.com/fairlead-io/fairlead/e2e/machine/machinetest"
)

// nameServer is in corp, and answers by TCP.
const nameServer = "127.0.0.53"

// relayFiles are those of the relay's image (e2e/image looks that it has the first), and what the kubelet writes.
var relayFiles = map[string]string{
	"/etc/nsswitch.conf": "hosts: dns\n",
	"/etc/resolv.conf":   "nameserver " + nameServer + "\noptions use-vc\n",
}

// reachable has corp reach the hub at the address of the service in the cluster, for which DNS has the hub's name.
func (s *site) reachable(t *testing.T, port int) {
	t.Helper()
	at := net.JoinHostPort(machine.ServiceAddress, strconv.Itoa(port))
	listener, err := s.network.Listen(t.Context(), machine.Cluster, at)
	controlplanetest.Require(t, err)
	machinetest.Accept(t, listener, func(conn net.Conn) {
		hub, err := s.network.Dial(t.Context(), machine.Internet, net.JoinHostPort(machine.HubAddress, strconv.Itoa(port)))
		if err != nil {
			return
		}
		defer hub.Close() //nolint:errcheck // it has ended
		go func() { _, _ = io.Copy(hub, conn); _ = hub.Close() }()
		_, _ = io.Copy(conn, hub)
	})
	names, err := s.network.Listen(t.Context(), machine.Corp, nameServer+":53")
	controlplanetest.Require(t, err)
	machinetest.Accept(t, names, func(conn net.Conn) {
		for answerName(conn) == nil { // until somebody hangs up
		}
	})
}

// answerName knows the hub's name alone.
func answerName(conn net.Conn) error {
	var length [2]byte
	if _, err := io.ReadFull(conn, length[:]); err != nil {
		return err
	}
	question := make([]byte, binary.BigEndian.Uint16(length[:]))
	if _, err := io.ReadFull(conn, question); err != nil {
		return err
	}
	var message dnsmessage.Message
	if err := message.Unpack(question); err != nil {
		return err
	}
	asked := message.Questions[0]
	message.Response, message.Additionals = true, nil
	switch {
	case asked.Name.String() != machine.HubName+".":
		message.RCode = dnsmessage.RCodeNameError
	case asked.Type == dnsmessage.TypeA:
		message.Answers = []dnsmessage.Resource{{
			Header: dnsmessage.ResourceHeader{Name: asked.Name, Type: asked.Type, Class: asked.Class},
			Body:   &dnsmessage.AResource{A: netip.MustParseAddr(machine.ServiceAddress).As4()},
		}}
	}
	answer, err := message.Pack()
	if err != nil {
		return err
	}
	_, err = conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(answer))), answer...))
	return err
}
