package relay

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"testing"
	"time"
)

func TestStrangersWhoKnockAtTheProbesTakeNoMemory(t *testing.T) {
	health := net.JoinHostPort("127.0.0.1", strconv.Itoa(int(freePort(t))))
	r := newRelay(t.TempDir(), []Target{{"hub.example", freePort(t)}}, slog.New(slog.DiscardHandler))
	go func() { _ = r.run(t.Context(), health) }()
	healthy := func() bool {
		response, err := http.Get("http://" + health + "/healthz")
		if err != nil {
			return false
		}
		_ = response.Body.Close()
		return response.StatusCode == http.StatusOK
	}
	await(t, "the relay", healthy)
	before := runtime.NumGoroutine()
	const strangers = 10 * maxProbes
	for range strangers {
		conn, err := net.Dial("tcp", health)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close() //nolint:errcheck // nothing was said
		_, _ = io.WriteString(conn, "GET /readyz HTTP/1.1\r\nA: ")
	}
	await(t, "the server to have accepted what it accepts", func() bool { return runtime.NumGoroutine() >= before+maxProbes/2 })
	time.Sleep(100 * time.Millisecond) // for more than that
	if more := runtime.NumGoroutine() - before; more > 2*maxProbes {
		t.Errorf("%d goroutines for %d strangers", more, strangers)
	}
}

func TestHealthIsThatItListensAndReadyThatTunnelsOpen(t *testing.T) {
	r := readiness{targets: []Target{hub, {"other.invalid", 443}}, last: map[Target]error{}}
	get := func(path string) (int, string) {
		w := httptest.NewRecorder()
		r.handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		return w.Code, w.Body.String()
	}
	for _, step := range []struct {
		do   func()
		code int
		text string
	}{
		{func() {}, 503, "hub.invalid:8091: nobody has asked for a tunnel yet\nother.invalid:443: nobody has asked for a tunnel yet\n"},
		{func() { r.note(hub, nil) }, 200, "hub.invalid:8091: a tunnel was opened\nother.invalid:443: nobody has asked for a tunnel yet\n"},
		{func() { r.note(r.targets[1], errors.New("403")) }, 503, "hub.invalid:8091: a tunnel was opened\nother.invalid:443: 403\n"},
		{func() { r.note(r.targets[1], nil) }, 200, "hub.invalid:8091: a tunnel was opened\nother.invalid:443: a tunnel was opened\n"},
	} {
		step.do()
		if code, text := get("/readyz"); code != step.code || text != step.text {
			t.Errorf("/readyz: %d, %q", code, text)
		}
		if code, _ := get("/healthz"); code != 200 {
			t.Errorf("/healthz: %d", code)
		}
	}
}
