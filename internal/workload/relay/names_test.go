package relay

import (
	"context"
	"encoding/binary"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/fairlead-io/fairlead/internal/workload/upstream"
)

// dns answers every question for an address with this one.
func dns(t *testing.T, address string) *net.Resolver {
	t.Helper()
	server := serve(t, func(conn net.Conn) {
		for {
			var length [2]byte
			if _, err := io.ReadFull(conn, length[:]); err != nil {
				return
			}
			question := make([]byte, binary.BigEndian.Uint16(length[:]))
			if _, err := io.ReadFull(conn, question); err != nil {
				return
			}
			answer, err := answerTo(question, netip.MustParseAddr(address).As4())
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = conn.Write(binary.BigEndian.AppendUint16(nil, uint16(len(answer))))
			_, _ = conn.Write(answer)
		}
	})
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", server.Addr().String())
	}}
}

func answerTo(question []byte, address [4]byte) ([]byte, error) {
	var message dnsmessage.Message
	if err := message.Unpack(question); err != nil {
		return nil, err
	}
	asked := message.Questions[0]
	message.Response, message.Additionals = true, nil
	if asked.Type == dnsmessage.TypeA {
		message.Answers = []dnsmessage.Resource{{
			Header: dnsmessage.ResourceHeader{Name: asked.Name, Type: asked.Type, Class: asked.Class}, Body: &dnsmessage.AResource{A: address},
		}}
	}
	return message.Pack()
}

func hostsOf(t *testing.T, text string) upstream.HostsFile {
	t.Helper()
	file := filepath.Join(t.TempDir(), "hosts")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return upstream.HostsFile(file)
}

// The answer of DNS is on the loopback interface here, and is refused; what matters is that DNS was asked.
func TestWhereThereIsNoProxyTheHubIsAskedOfDNSAndNotOfTheHostAliasesThatLeadHere(t *testing.T) {
	for name, row := range map[string]struct{ url, noProxy, want string }{
		"no proxy":              {"", "", "no proxy is set, and hub.invalid leads back to this relay (127.0.0.9:8091)"},
		"NO_PROXY":              {"http://127.0.0.1:1", ".corp.example,hub.invalid\n", "NO_PROXY covers it, and hub.invalid leads back to this relay (127.0.0.9:8091)"},
		"NO_PROXY, a domain":    {"http://127.0.0.1:1", ".invalid", "NO_PROXY covers it"},
		"NO_PROXY, and a port":  {"http://127.0.0.1:1", "hub.invalid:8091", "NO_PROXY covers it"},
		"NO_PROXY, other port":  {"http://127.0.0.1:1", "hub.invalid:8092", "the proxy http://127.0.0.1:1: "},
		"NO_PROXY, other names": {"http://127.0.0.1:1", ".corp.example,10.0.0.0/8,localhost", "the proxy http://127.0.0.1:1: "},
		"NO_PROXY, everything":  {"https://127.0.0.1:1", "*", "NO_PROXY covers it"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := settings(t, row.url, "")
			put(t, folder, map[string]string{upstream.HTTPSFile: row.url, upstream.NoProxyFile: row.noProxy})
			r := newRelay(folder, []Target{hub}, slog.New(slog.DiscardHandler))
			r.hosts, r.resolver = hostsOf(t, "127.0.0.1 localhost\n127.0.0.1\tother.example hub.invalid # the relay\n"), dns(t, "127.0.0.9")
			if _, _, err := r.openTunnel(t.Context(), hub); err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("%v, not %q", err, row.want)
			}
		})
	}
}

// A proxy that only the hosts file knows is found there, as before the image said hosts: dns.
func TestOtherHostAliasesCount(t *testing.T) {
	proxy := newCompany(t, false, serve(t, echo))
	url := strings.Replace(proxy.url(userinfo()), "127.0.0.1", "Proxy.Invalid", 1)
	s := start(t, settings(t, url, ""), func(r *relay) {
		r.hosts, r.resolver = hostsOf(t, "# ours\n127.0.0.1 hub.invalid\n127.0.0.1 alias proxy.invalid\n"), dns(t, "127.0.0.9")
	})
	if answer, err := s.exchange(t, "a"); answer != "a." || err != nil {
		t.Errorf("%q (%v)\n%s", answer, err, s.logged)
	}
	r := newRelay("", []Target{hub}, nil)
	r.hosts = hostsOf(t, "127.0.0.1 hub.invalid\n192.0.2.7 hub.invalid\n::1 hub.invalid\n")
	if found := r.aliases("hub.invalid"); len(found) != 1 || found[0].String() != "192.0.2.7" {
		t.Errorf("of a target: %q", found)
	}
}
