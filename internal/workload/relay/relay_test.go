package relay

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/x509"
	"io"
	"log/slog"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/workload/upstream"
)

// echo says what it was told once it was told all, and its own last word.
func echo(conn net.Conn) {
	said, _ := io.ReadAll(conn)
	_, _ = conn.Write(append(said, "."...))
}

func TestNoByteIsLostOnTheWayToTheHubAndBack(t *testing.T) {
	said := make([]byte, 3<<20)
	_, _ = rand.Read(said)
	for name, withTLS := range map[string]bool{"http proxy": false, "https proxy": true} {
		t.Run(name, func(t *testing.T) {
			proxy := newCompany(t, withTLS, serve(t, echo))
			s := start(t, settings(t, proxy.url(userinfo())+"\n", proxy.ca()), nil)
			answer, err := s.exchange(t, string(said))
			if err != nil || !bytes.Equal([]byte(answer), append(said, '.')) {
				t.Errorf("%d bytes came back of %d (%v)\n%s", len(answer), len(said), err, s.logged)
			}
			if text, ready := s.report(); !ready || text != "hub.invalid:8091: a tunnel was opened" {
				t.Errorf("ready: %v, %q", ready, text)
			}
			await(t, "the end of the tunnel", func() bool { return strings.Contains(s.logged.String(), "tunnel ended") })
			for _, want := range []string{`msg="tunnel opened" target=hub.invalid:8091 agent=127.0.0.1:`, "way=CONNECT", "sent=3145728 received=3145729"} {
				if !strings.Contains(s.logged.String(), want) {
					t.Errorf("%q is not in the log:\n%s", want, s.logged)
				}
			}
			r := proxy.requests()[0]
			if r.Method != "CONNECT" || r.Host != hub.String() || !strings.HasPrefix(r.UserAgent(), "fairlead-relay/") {
				t.Errorf("the proxy was asked %s %s by %s", r.Method, r.Host, r.UserAgent())
			}
			if withTLS && r.TLS.NegotiatedProtocol != "http/1.1" {
				t.Errorf("ALPN: %q", r.TLS.NegotiatedProtocol)
			}
		})
	}
}

func TestAHubMayGoOnAfterTheAgentAndTheOtherWayRound(t *testing.T) {
	told := make(chan string, 1)
	proxy := newCompany(t, true, serve(t, func(conn net.Conn) {
		_, _ = io.WriteString(conn, "all I have to say")
		_ = conn.(upstream.Conn).CloseWrite()
		said, _ := io.ReadAll(conn)
		told <- string(said)
	}))
	s := start(t, settings(t, proxy.url(userinfo()), proxy.ca()), nil)
	agent := s.dial(t)
	if all, err := io.ReadAll(agent); string(all) != "all I have to say" || err != nil {
		t.Fatalf("%q (%v)", all, err)
	}
	_, _ = io.WriteString(agent, "one more thing")
	_ = agent.Close()
	if said := <-told; said != "one more thing" {
		t.Errorf("the hub was told %q", said)
	}
}

func TestASideThatIsSilentForEverDoesNotKeepAHalfTunnel(t *testing.T) {
	proxy := newCompany(t, false, serve(t, func(conn net.Conn) {
		_, _ = io.Copy(io.Discard, conn)
		<-t.Context().Done()
	}))
	s := start(t, settings(t, proxy.url(userinfo()), ""), func(r *relay) { r.linger = 50 * time.Millisecond })
	if answer, _ := s.exchange(t, "a"); answer != "" {
		t.Errorf("the hub says %q", answer)
	}
	await(t, "the end of the tunnel", func() bool { return strings.Contains(s.logged.String(), `reason="the agent has ended it"`) })
}

func TestWhatComesRightBehindTheAnswerIsTheTunnels(t *testing.T) {
	const answer = "HTTP/1.1 100 Continue\r\nA: b\r\n\r\nHTTP/1.0 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: none\r\n\r\n"
	long := strings.Repeat("0123456789", 1000)
	for _, piece := range []int{1, 7, 4096, 1 << 20} {
		s := start(t, settings(t, proxyAnswering(t, answer+"hello"+long, piece), ""), nil)
		if got, err := io.ReadAll(s.dial(t)); string(got) != "hello"+long || err != nil {
			t.Errorf("in pieces of %d: %.20q, %d bytes (%v)", piece, got, len(got), err)
		}
	}
}

func TestSettingsCountFromTheNextConnectionOn(t *testing.T) {
	proxy := newCompany(t, true, serve(t, echo))
	folder := settings(t, proxy.url("corp%20user:wrong@"), proxy.ca())
	s := start(t, folder, nil)
	if answer, err := s.exchange(t, "a"); answer != "" {
		t.Errorf("a wrong password: %q (%v)", answer, err)
	}
	if text := s.awaitUnready(t); !strings.Contains(text, "407 Proxy Authentication Required: it does not accept the user or the password") {
		t.Errorf("/readyz: %s", text)
	}
	put(t, folder, map[string]string{upstream.HTTPSFile: proxy.url(userinfo()), upstream.CAFile: proxy.ca()})
	open := s.dial(t)
	_, _ = io.WriteString(open, "o")
	await(t, "the tunnel that stays open", func() bool { return strings.Count(s.logged.String(), "tunnel opened") == 1 })
	if answer, err := s.exchange(t, "a"); answer != "a." || err != nil {
		t.Errorf("with the new Secret: %q (%v)", answer, err)
	}
	proxy.setPassword("changed")
	if answer, _ := s.exchange(t, "a"); answer != "" {
		t.Errorf("with an old password: %q", answer)
	}
	_, _ = io.WriteString(open, "pen")
	_ = open.CloseWrite()
	if answer, err := io.ReadAll(open); string(answer) != "open." || err != nil {
		t.Errorf("the tunnel that was open: %q (%v)", answer, err)
	}
}

func TestWhatIsWrongIsSaidInWordsWithoutThePassword(t *testing.T) {
	plain, secured := newCompany(t, false, serve(t, echo)), newCompany(t, true, serve(t, echo))
	_, plainAddress, _ := strings.Cut(plain.URL, "//")
	_, securedAddress, _ := strings.Cut(secured.URL, "//")
	for name, row := range map[string]struct{ url, ca, want string }{
		"no port":                       {"http://" + userinfo() + "proxy.example", "", "HTTPS_PROXY: the port is missing"},
		"no percent-encoding":           {"http://" + username + ":" + password + "@proxy.example:3128", "", "HTTPS_PROXY: "},
		"a scheme of others":            {"socks5://" + userinfo() + "proxy.example:1080", "", `scheme "socks5" is not supported`},
		"nobody there":                  {"http://" + userinfo() + "127.0.0.1:1", "", "connection refused"},
		"no such name":                  {"http://" + userinfo() + "proxy.invalid:3128", "", "proxy.invalid"},
		"no credentials":                {plain.URL, "", "its URL has none"},
		"an authority that nobody told": {"https://" + userinfo() + securedAddress, "", "x509: certificate signed by unknown authority"},
		"a file without certificate":    {"https://" + userinfo() + securedAddress, "no PEM", "ca.crt: there is no certificate in it"},
		"another name":                  {"https://" + userinfo() + strings.Replace(securedAddress, "127.0.0.1", "localhost", 1), secured.ca(), "localhost"},
		"TLS to a plain proxy":          {"https://" + userinfo() + plainAddress, plain.ca(), "its URL begins with http://"},
		"a plain request to a TLS port": {"http://" + userinfo() + securedAddress, "", "the proxy http://***@127.0.0.1:"},
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, settings(t, row.url, row.ca), nil)
			if answer, _ := s.exchange(t, "a"); answer != "" {
				t.Fatalf("the answer is %q", answer)
			}
			if text := s.awaitUnready(t); !strings.Contains(text, row.want) {
				t.Errorf("/readyz says %q, not %q", text, row.want)
			}
			if !strings.Contains(s.logged.String(), `msg="no tunnel"`) {
				t.Errorf("the log:\n%s", s.logged)
			}
		})
	}
	t.Run("no Secret", func(t *testing.T) {
		s := start(t, t.TempDir(), nil)
		_, _ = s.exchange(t, "a")
		if text := s.awaitUnready(t); !strings.Contains(text, "HTTPS_PROXY: no such file") {
			t.Errorf("/readyz says %q", text)
		}
	})
}

func TestAProxyThatDoesNotAnswerIsGivenUp(t *testing.T) {
	for name, row := range map[string]struct{ scheme, says string }{
		"nothing":                 {"http://", ""},
		"half a line":             {"http://", "HTTP/1.1 200 O"},
		"a header without end":    {"http://", "HTTP/1.1 200 OK\r\nA: b\r\n"},
		"nothing, instead of TLS": {"https://", ""},
	} {
		t.Run(name, func(t *testing.T) {
			proxy := serve(t, func(conn net.Conn) {
				_, _ = io.WriteString(conn, row.says)
				echo(conn)
			})
			url := row.scheme + userinfo() + proxy.Addr().String()
			s := start(t, settings(t, url, ""), func(r *relay) { r.timeout = upstream.Timeout(500 * time.Millisecond) })
			_, _ = io.ReadAll(s.dial(t))
			if text := s.awaitUnready(t); !strings.Contains(text, "no answer within 500ms") {
				t.Errorf("/readyz says %q", text)
			}
		})
	}
}

func TestAWayThatLeadsBackToTheRelayIsRefused(t *testing.T) {
	local := Target{Host: "localhost", Port: 8091}
	for name, row := range map[string]struct {
		url  string
		want []string
	}{
		"no proxy":                      {"", []string{"no proxy is set, and localhost leads back to this relay", "hosts: dns"}},
		"a proxy by a target's name":    {"http://" + userinfo() + "localhost:3128", []string{"it is the proxy, and localhost leads back", "by its IP address"}},
		"a proxy at a target's port":    {"http://" + userinfo() + "127.0.0.1:8091", []string{"127.0.0.1 leads back to this relay (127.0.0.1:8091)"}},
		"a proxy nowhere":               {"http://" + userinfo() + "0.0.0.0:8091", []string{"0.0.0.0 leads back to this relay"}},
		"a proxy nowhere, by IPv6":      {"http://" + userinfo() + "[::]:8091", []string{"leads back to this relay"}},
		"a proxy at the port of health": {"http://" + userinfo() + "127.0.0.1:8099", []string{"leads back"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, settings(t, row.url, ""), func(r *relay) { r.targets = []Target{local} })
			_, _, err := s.openTunnel(t.Context(), local)
			for _, want := range row.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%v, not %q", err, want)
				}
			}
		})
	}
}

func TestWithoutProxyATargetThatLeadsElsewhereIsDialledDirectly(t *testing.T) {
	address := serve(t, echo).Addr().(*net.TCPAddr)
	s := start(t, settings(t, " \n", ""), nil)
	conn, _, err := s.openTunnel(t.Context(), Target{Host: "127.0.0.1", Port: uint16(address.Port)})
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
}

func TestAProxyMayHaveAnIPv6Address(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	proxy := &company{hub: serve(t, echo).Addr().String(), password: password}
	server := &http.Server{Handler: proxy}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	// An IPv4 address, written as IPv6, so that a machine without IPv6 will do: it is about the brackets.
	address := net.JoinHostPort("::ffff:127.0.0.1", strconv.Itoa(listener.Addr().(*net.TCPAddr).Port))
	s := start(t, settings(t, "http://"+userinfo()+address, ""), nil)
	if answer, err := s.exchange(t, "a"); answer != "a." || err != nil {
		t.Errorf("%q (%v)\n%s", answer, err, s.logged)
	}
}

func TestThereIsALimitToTunnels(t *testing.T) {
	proxy := newCompany(t, false, serve(t, echo))
	s := start(t, settings(t, proxy.url(userinfo()), ""), func(r *relay) { r.slots = make(chan struct{}, 1) })
	first := s.dial(t)
	await(t, "the first tunnel", func() bool { return strings.Contains(s.logged.String(), "tunnel opened") })
	if answer, _ := io.ReadAll(s.dial(t)); len(answer) > 0 {
		t.Errorf("the second tunnel: %q", answer)
	}
	if !strings.Contains(s.logged.String(), `msg=refused target=hub.invalid:8091`) {
		t.Errorf("the log:\n%s", s.logged)
	}
	_ = first.Close()
	await(t, "the end of the first", func() bool { return len(s.slots) == 0 })
	if answer, err := s.exchange(t, "a"); answer != "a." || err != nil {
		t.Errorf("the third tunnel: %q (%v)", answer, err)
	}
}

func TestNothingIsLeftOfConnectionsThatHaveEnded(t *testing.T) {
	proxy := newCompany(t, true, serve(t, echo))
	folder := settings(t, proxy.url(userinfo()), proxy.ca())
	s := start(t, folder, nil)
	before := runtime.NumGoroutine()
	for i := range 20 {
		if answer, err := s.exchange(t, "a"); i < 10 && answer != "a." {
			t.Errorf("%q (%v)", answer, err)
		}
		broken := s.dial(t) // it does not even say goodbye
		_, _ = io.WriteString(broken, "a")
		_ = broken.SetLinger(0)
		_ = broken.Close()
		if i == 9 {
			put(t, folder, map[string]string{upstream.HTTPSFile: proxy.url("corp%20user:wrong@"), upstream.CAFile: proxy.ca()})
		}
	}
	proxy.CloseClientConnections()
	await(t, "all goroutines to end", func() bool { return runtime.NumGoroutine() <= before && len(s.slots) == 0 })
}

func TestTunnelsGoOnForAWhileAfterTheRelayWasToldToEnd(t *testing.T) {
	proxy := newCompany(t, false, serve(t, func(conn net.Conn) { _, _ = io.Copy(conn, conn) }))
	folder := settings(t, proxy.url(userinfo()), "")
	for name, grace := range map[string]time.Duration{"as long as it takes": time.Hour, "no longer than the grace time": 50 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			logged := &buffer{}
			target := Target{Host: hub.Host, Port: freePort(t)}
			r := newRelay(folder, []Target{target}, slog.New(slog.NewTextHandler(logged, nil)))
			r.grace = grace
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			ended := make(chan error, 1)
			go func() { ended <- r.run(ctx, "127.0.0.1:0") }()
			await(t, "the relay", func() bool { return strings.Contains(logged.String(), "listening") })
			address := net.JoinHostPort("127.0.0.1", strconv.Itoa(int(target.Port)))
			agent, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			defer agent.Close() //nolint:errcheck // it may be closed
			await(t, "the tunnel", func() bool { return strings.Contains(logged.String(), "tunnel opened") })
			stop()
			await(t, "the end of listening", func() bool { return strings.Contains(logged.String(), "stopped listening") })
			if again, err := net.Dial("tcp", address); err == nil {
				_ = again.Close()
				t.Error("it still listens")
			}
			want := "the relay ends"
			if grace == time.Hour {
				want = "the agent has ended it"
				_, _ = io.WriteString(agent, "still there")
				said := make([]byte, len("still there"))
				if _, err := io.ReadFull(agent, said); err != nil {
					t.Error(err)
				}
				_ = agent.Close()
			}
			if err := <-ended; err != nil {
				t.Error(err)
			}
			if !strings.Contains(logged.String(), want) {
				t.Errorf("%q is not in the log:\n%s", want, logged)
			}
		})
	}
}

func TestAPortThatIsTakenIsSaid(t *testing.T) {
	taken := uint16(serve(t, echo).Addr().(*net.TCPAddr).Port)
	err := newRelay(t.TempDir(), []Target{{"hub.example", taken}}, slog.New(slog.DiscardHandler)).run(t.Context(), "127.0.0.1:0")
	if err == nil || !strings.Contains(err.Error(), "target hub.example:"+strconv.Itoa(int(taken))) || !strings.Contains(err.Error(), "address already in use") {
		t.Errorf("%v", err)
	}
}

func TestTunnelsToTheSameProxyShareItsAuthorities(t *testing.T) {
	path := t.TempDir()
	folder := upstream.NewFolder(path, slog.New(slog.DiscardHandler))
	read := func(files map[string]string) (*x509.CertPool, error) {
		t.Helper()
		files[upstream.HTTPSFile] = "https://proxy.invalid:3128"
		put(t, path, files)
		settings, err := folder.Read()
		if err != nil {
			t.Fatal(err)
		}
		return settings.Authorities()
	}
	one, other := newCompany(t, true, serve(t, echo)), newCompany(t, true, serve(t, echo))
	first, err := read(map[string]string{upstream.CAFile: one.ca()})
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := read(map[string]string{upstream.CAFile: one.ca()}); again != first {
		t.Error("the same file is held twice")
	}
	changed, _ := read(map[string]string{upstream.CAFile: one.ca() + other.ca()})
	if changed == first {
		t.Error("a file that has changed is not read anew")
	}
	if kept, err := read(map[string]string{upstream.CAFile: "no PEM"}); err != nil || kept != changed || folder.Problem() == nil {
		t.Errorf("a file without certificate takes the place of the one before: %v, problem %v", err, folder.Problem())
	}
	if pool, err := read(map[string]string{}); err != nil || pool.Equal(first) {
		t.Errorf("without the file, its authorities are known: %v", err)
	}
}

// freePort lies below those that the kernel gives to connections and to listeners at port 0: one of them could otherwise sit on
// it before the relay does. A UDP socket of the same number keeps it from tests that run beside this one, as in e2e/ports.
func freePort(t *testing.T) uint16 {
	t.Helper()
	for range 200 {
		number := 12000 + mathrand.N(8000)
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(number))
		reservation, err := net.ListenPacket("udp4", address)
		if err != nil {
			continue
		}
		listener, err := net.Listen("tcp", address)
		if err != nil {
			_ = reservation.Close()
			continue
		}
		t.Cleanup(func() { _ = reservation.Close() })
		_ = listener.Close()
		return uint16(number)
	}
	t.Fatal("no port is free")
	return 0
}
