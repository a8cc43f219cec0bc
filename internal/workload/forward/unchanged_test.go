package forward

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/workload/upstream"
)

// asking sends a request through a relay to a company's proxy that is this handler.
func asking(t *testing.T, company http.HandlerFunc, change func(*http.Request)) (status int, body string) {
	t.Helper()
	server := httptest.NewServer(company)
	defer server.Close()
	url := "http://corp:p4ssw0rd@" + server.Listener.Addr().String()
	s := start(t, map[string]string{upstream.HTTPFile: url, upstream.HTTPSFile: url}, nil)
	request, err := http.NewRequest(http.MethodGet, "http://a.example/x?z=1;y=2&b=%zz", nil)
	if err != nil {
		t.Fatal(err)
	}
	change(request)
	response, err := s.client("shop").Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	read, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(read)
}

func TestARequestIsLeftAsItIs(t *testing.T) {
	var uri string
	var header http.Header
	asking(t, func(_ http.ResponseWriter, r *http.Request) { uri, header = r.RequestURI, r.Header }, func(r *http.Request) {
		r.Header.Set("X-Forwarded-For", "198.51.100.7")
		r.Header.Set("Forwarded", "for=198.51.100.7")
		r.Header.Set("Connection", "X-Hop")
		r.Header.Set("X-Hop", "1")
	})
	if uri != "http://a.example/x?z=1;y=2&b=%zz" || header.Get("X-Forwarded-For") != "198.51.100.7" || header.Get("Forwarded") == "" || header.Get("X-Hop") != "" {
		t.Errorf("%s %v", uri, header)
	}
}

// Some of squid's pages have the request in them, with the password.
func TestAnErrorPageOfSquidIsNotShown(t *testing.T) {
	status, body := asking(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Squid-Error", "ERR_DNS_FAIL 0")
		w.Header().Set("Content-Language", "en")
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, strings.Repeat(r.Header.Get("Proxy-Authorization"), 1000))
	}, func(*http.Request) {})
	if status != http.StatusServiceUnavailable || body != "fairlead-relay: the company's proxy answers 503, ERR_DNS_FAIL 0\n" {
		t.Errorf("%d %q", status, body)
	}
}

// TRACE has the request for an answer.
func TestTRACEIsRefused(t *testing.T) {
	status, body := asking(t, func(_ http.ResponseWriter, r *http.Request) { t.Errorf("%s %s", r.Method, r.RequestURI) }, func(r *http.Request) { r.Method = http.MethodTrace })
	if status != http.StatusNotImplemented || !strings.Contains(body, "TRACE") {
		t.Errorf("%d %q", status, body)
	}
}
