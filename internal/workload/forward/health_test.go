package forward

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/fairlead-io/fairlead/internal/workload/upstream"
)

func TestTheProbeIsToldWhichRevisionTheSettingsAre(t *testing.T) {
	for _, revision := range []string{"", "corp/3/0123"} {
		s := start(t, map[string]string{upstream.HTTPSFile: "http://p:1", upstream.RevisionFile: revision}, nil)
		answer := httptest.NewRecorder()
		s.Config.Handler.(*Proxy).health(t.Context()).ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/readyz", http.NoBody))
		if got := answer.Header().Get(upstream.RevisionHeader); got != revision || answer.Code != http.StatusOK {
			t.Errorf("%d %q, want %q", answer.Code, got, revision)
		}
	}
}
