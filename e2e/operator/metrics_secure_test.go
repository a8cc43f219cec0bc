package operator_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
)

// awaitSecureMetrics asks an operator with --metrics-secure as somebody with the right, somebody without, and nobody.
func (f *fixture) awaitSecureMetrics(reader, stranger string) {
	f.Helper()
	insecure := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} // its own certificate, as Prometheus takes it
	f.Cleanup(insecure.CloseIdleConnections)
	for _, example := range []struct {
		path, token string
		status      int
		has         string
	}{
		{"/metrics", reader, http.StatusOK, "go_goroutines"},
		{"/metrics", stranger, http.StatusForbidden, ""},
		{"/metrics", "", http.StatusUnauthorized, ""},
		{"/status", "", http.StatusUnauthorized, "<form"}, // its own page, with a form for a token
	} {
		controlplanetest.Await(f, fmt.Sprintf("%d of %s", example.status, example.path), func(ctx context.Context) (bool, error) {
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+f.operator.MetricsAddress()+example.path, nil)
			if err != nil {
				return false, err
			}
			request.Header.Set("Accept", "text/html")
			if example.token != "" {
				request.Header.Set("Authorization", "Bearer "+example.token)
			}
			answer, err := insecure.Do(request)
			if err != nil {
				return false, err
			}
			defer answer.Body.Close()
			text, err := io.ReadAll(answer.Body)
			if err != nil {
				return false, err
			}
			return holds(answer.StatusCode == example.status && strings.Contains(string(text), example.has), "%d %.300s", answer.StatusCode, text)
		})
	}
}
