package statuspage

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/client-go/rest"
)

// apiServer stands in for a real one, which e2e/operator asks: here it says what a healthy one never says.
func apiServer(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if strings.HasSuffix(r.URL.Path, "/tokenreviews") {
		var review authenticationv1.TokenReview
		_ = json.NewDecoder(r.Body).Decode(&review)
		switch token := review.Spec.Token; token {
		case "expired":
			review.Status.Error = "token has expired"
		case "lost":
			http.Error(w, "no", http.StatusServiceUnavailable)
			return
		default:
			review.Status = authenticationv1.TokenReviewStatus{Authenticated: true, User: authenticationv1.UserInfo{
				Username: token, UID: "1", Groups: []string{"g"}, Extra: map[string]authenticationv1.ExtraValue{"k": {"v"}},
			}}
		}
		_ = json.NewEncoder(w).Encode(review)
		return
	}
	var review authorizationv1.SubjectAccessReview
	_ = json.NewDecoder(r.Body).Decode(&review)
	spec := review.Spec
	review.Status.Allowed = spec.UID == "1" && spec.Groups[0] == "g" && spec.Extra["k"][0] == "v" &&
		*spec.NonResourceAttributes == authorizationv1.NonResourceAttributes{Path: "/metrics", Verb: "get"}
	review.Status.Denied = spec.User == "denied"
	if spec.User == "unclear" {
		http.Error(w, "no", http.StatusServiceUnavailable)
		return
	}
	_ = json.NewEncoder(w).Encode(review)
}

// filtered returns a handler that says "secret" to whoever comes through.
func filtered(t *testing.T, log logr.Logger, apiServer http.HandlerFunc) http.Handler {
	t.Helper()
	server := httptest.NewServer(apiServer)
	t.Cleanup(server.Close)
	filter, err := Filter(&rest.Config{Host: server.URL, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}, server.Client())
	if err != nil {
		t.Fatal(err)
	}
	handler, err := filter(log, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("secret")) }))
	if err != nil {
		t.Fatal(err)
	}
	return handler
}

func ask(handler http.Handler, method, path, authorization string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, nil)
	r.Header.Set("Authorization", authorization)
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, r)
	return answer
}

func TestWhoIsNotKnownOrMayNotReadsNothing(t *testing.T) {
	var logged strings.Builder
	handler := filtered(t, funcr.New(func(_, args string) { logged.WriteString(args) }, funcr.Options{}), apiServer)
	for _, row := range []struct {
		method, path, authorization string
		status                      int
	}{
		{"GET", "/metrics", "Bearer reader", 200},
		{"GET", "/metrics", "bearer  reader ", 200},
		{"POST", "/metrics", "Bearer reader", 403},
		{"GET", "/other", "Bearer reader", 403},
		{"GET", "/metrics", "Bearer denied", 403},
		{"GET", "/metrics", "", 401},
		{"GET", "/metrics", "Bearer", 401},
		{"GET", "/metrics", "Bearer ", 401},
		{"GET", "/metrics", "reader", 401},
		{"GET", "/metrics", "Basic cmVhZGVyOng=", 401},
		{"GET", "/metrics", "Bearer expired", 401},
		{"GET", "/metrics", "Bearer lost", 500},
		{"GET", "/metrics", "Bearer unclear", 500},
	} {
		answer := ask(handler, row.method, row.path, row.authorization)
		if through := answer.Body.String() == "secret"; answer.Code != row.status || through != (row.status == 200) {
			t.Errorf("%s %s as %q: %d %q, want %d", row.method, row.path, row.authorization, answer.Code, answer.Body, row.status)
		}
	}
	if said := logged.String(); said == "" || strings.Contains(said, "Bearer") || strings.Contains(said, `"lost"`) {
		t.Errorf("logged: %q", said)
	}
}

func TestTheAPIServerIsNotAskedTooOften(t *testing.T) {
	var asked atomic.Int32
	handler := filtered(t, logr.Discard(), func(w http.ResponseWriter, r *http.Request) { asked.Add(1); apiServer(w, r) })
	for range 3 {
		if answer := ask(handler, "GET", "/metrics", "Bearer reader"); answer.Code != 200 {
			t.Errorf("%d", answer.Code)
		}
	}
	if asked.Load() != 2 {
		t.Errorf("the API server was asked %d times about one who may, want once who it is and once what it may", asked.Load())
	}
	refused := 0
	for range 500 {
		if ask(handler, "GET", "/metrics", "Bearer expired").Code == http.StatusTooManyRequests {
			refused++
		}
	}
	if answer := ask(handler, "GET", "/metrics", "Bearer reader"); refused == 0 || answer.Code != 200 {
		t.Errorf("of 500 strangers at once, %d were not asked about; who may gets %d", refused, answer.Code)
	}
}
