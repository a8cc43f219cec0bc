package healthz

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"
)

// from is a connection of another address.
type from struct {
	net.Conn
	address string
	closed  bool
}

func (f *from) RemoteAddr() net.Addr {
	address, _ := net.ResolveTCPAddr("tcp", f.address)
	return address
}

func (f *from) Close() error {
	f.closed = true
	return nil
}

// Pods that hold all places do not keep the kubelet away, however many they are and however many addresses they have.
func TestWhoTakesAllPlacesKeepsNobodyAway(t *testing.T) {
	var open connections
	connect := func(address string) *from {
		conn := &from{address: address}
		open.state(conn, http.StateNew)
		return conn
	}
	pods := []string{"10.0.0.1:1", "10.0.0.2:1", "[fd00::1]:1", "[::ffff:10.0.0.2]:2"}
	var strangers []*from
	for i := range 10 * places {
		strangers = append(strangers, connect(pods[i%len(pods)]))
	}
	kubelet := connect("10.0.1.1:1")
	for i := range places / 2 {
		strangers = append(strangers, connect(pods[i%len(pods)]))
	}
	served := 0
	for _, one := range strangers {
		if !one.closed {
			served++
		}
	}
	if kubelet.closed || served != places-1 || len(open.all) != places {
		t.Errorf("kubelet closed: %v; %d strangers are served, and %d counted", kubelet.closed, served, len(open.all))
	}
	for _, one := range strangers {
		open.state(one, http.StateClosed)
	}
	if len(open.all) != 1 {
		t.Errorf("%d are counted after their end", len(open.all))
	}
}

// The same with a server: who asks last is answered.
func TestStrangersWhoKnockTakeNoMemory(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer Serve(listener, Mux("it runs", nil))()
	address := listener.Addr().String()
	before := runtime.NumGoroutine()
	for range 10 * places {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close() //nolint:errcheck // nothing was said
		_, _ = io.WriteString(conn, "GET /healthz HTTP/1.1\r\nA: ")
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Get("http://" + address + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	for runtime.NumGoroutine() > before+2*places { // those that lost their places end
		runtime.Gosched()
	}
}

func TestAnAddressThatIsTakenIsAnError(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close() //nolint:errcheck // of a test
	if _, err := ListenAndServe(listener.Addr().String(), http.NotFoundHandler()); err == nil {
		t.Error("two listen on one address")
	}
}

func TestReadyOrWhyNot(t *testing.T) {
	var why error
	mux := Mux("it runs", func(header http.Header) (string, error) {
		header.Set("Revision", "3")
		return "all is there", why
	})
	get := func(path string) string {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequestWithContext(context.Background(), http.MethodGet, path, http.NoBody))
		body, _ := io.ReadAll(w.Result().Body)
		return w.Result().Status + " " + w.Header().Get("Revision") + " " + string(body)
	}
	if got := get("/healthz") + get("/readyz"); got != "200 OK  it runs\n200 OK 3 all is there\n" {
		t.Error(got)
	}
	if why = errors.New("no settings"); get("/readyz") != "503 Service Unavailable 3 no settings\n" {
		t.Error(get("/readyz"))
	}
}
