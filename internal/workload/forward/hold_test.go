package forward

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/workload/upstream"
)

// A client that is gone when its tunnel opens is counted no more.
func TestWhoIsGoneBeforeTheTunnelIsOpenIsCountedNoMore(t *testing.T) {
	opens := make(chan struct{})
	company := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		<-opens
		w.WriteHeader(http.StatusOK)
	}))
	defer company.Close()
	p := newProxy(t)
	p.Folder = folderOf(t, map[string]string{upstream.HTTPSFile: company.URL})
	address, _, _ := serve(t, p, DefaultLimits, Drain{})
	for range 20 {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		// The server reads ahead, and does not see the end behind this.
		_, _ = io.WriteString(conn, "CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n")
		time.Sleep(10 * time.Millisecond)
		_, _ = io.WriteString(conn, "early")
		time.Sleep(10 * time.Millisecond)
		_ = conn.(*net.TCPConn).SetLinger(0)
		_ = conn.Close()
	}
	time.Sleep(10 * time.Millisecond)
	close(opens)
	for end := time.Now().Add(20 * time.Second); p.connections.count() > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d are counted", p.connections.count())
		}
	}
}

// A client that has ended its side reads no success where there was none.
func TestAClientThatHasSaidAllGetsNoFalseSuccess(t *testing.T) {
	ends := make(chan struct{})
	company := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		<-ends
		panic(http.ErrAbortHandler)
	}))
	defer company.Close()
	s := start(t, map[string]string{upstream.HTTPFile: company.URL, upstream.HTTPSFile: company.URL}, nil)
	for _, request := range []string{"GET http://example.com/ HTTP/1.1\r\nHost: example.com\r\n\r\n", "CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n"} {
		conn, err := net.Dial("tcp", s.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close() //nolint:errcheck // of a test
		_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
		_, _ = io.WriteString(conn, request)
		_ = conn.(*net.TCPConn).CloseWrite()
		ends <- struct{}{}
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err == nil && answer.StatusCode < http.StatusBadRequest {
			t.Errorf("%q: %s", request, answer.Status)
		}
	}
}

// What authenticates a connection (RFC 4559) authenticates no other client.
func TestAConnectionThatAClientAuthenticatesServesNoOther(t *testing.T) {
	var mutex sync.Mutex
	users := map[string]string{} // by connection
	far := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mutex.Lock()
		defer mutex.Unlock()
		if user, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Negotiate "); ok {
			users[r.RemoteAddr] = user
		}
		fmt.Fprint(w, "hello ", users[r.RemoteAddr])
	}))
	defer far.Close()
	s := start(t, map[string]string{upstream.HTTPFile: far.URL, upstream.HTTPSFile: far.URL}, nil)
	p := s.Config.Handler.(*Proxy)
	for _, direct := range []bool{false, true} {
		ask := func(user string) string {
			request := httptest.NewRequest(http.MethodGet, far.URL+"/", nil)
			if user != "" {
				request.Header.Set("Authorization", "Negotiate "+user)
			}
			settings, _ := p.Folder.Read()
			is := carried{settings: settings}
			is.decision.Direct, is.decision.Dial = direct, far.Listener.Addr().String()
			recorder := httptest.NewRecorder()
			p.plain.ServeHTTP(recorder, request.WithContext(context.WithValue(t.Context(), key{}, is)))
			return recorder.Body.String()
		}
		if direct {
			p.direct = &http.Transport{}
		}
		if one, other := ask("alice"), ask(""); one != "hello alice" || other != "hello " {
			t.Errorf("direct %v: %q, and another client: %q", direct, one, other)
		}
	}
}
