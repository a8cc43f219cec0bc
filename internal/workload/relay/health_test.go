package relay

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
)

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
