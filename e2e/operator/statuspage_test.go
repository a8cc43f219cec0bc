package operator_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/config"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/operator"
	"github.com/fairlead-io/fairlead/e2e/rights"
	"github.com/fairlead-io/fairlead/e2e/rights/rightstest"
	"github.com/fairlead-io/fairlead/e2e/tier"
	"github.com/fairlead-io/fairlead/internal/core/picture"
)

// ofStatusPage has the operator's further rights with the status page.
var ofStatusPage = rights.Table{"tokenreviews.authentication.k8s.io": "create", "subjectaccessreviews.authorization.k8s.io": "create"}

// visit asks the operator as somebody who has a token, or none. An operator with a certificate has its own, as Prometheus takes it.
func (f *fixture) visit(ctx context.Context, url, token, etag string) (status int, body, tag string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, "", "", err
	}
	request.Header.Set("Accept", "text/html")
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	if etag != "" {
		request.Header.Set("If-None-Match", etag)
	}
	insecure := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	defer insecure.CloseIdleConnections()
	answer, err := insecure.Do(request)
	if err != nil {
		return 0, "", "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	return answer.StatusCode, string(text), answer.Header.Get("ETag"), err
}

// awaitVisit waits for an answer: rights and caches take their time.
func (f *fixture) awaitVisit(url, token, etag string, want int, has func(body string) bool) (string, string) {
	f.Helper()
	var body, tag string
	controlplanetest.Await(f, fmt.Sprintf("%d of %s", want, url), func(ctx context.Context) (bool, error) {
		var status int
		var err error
		status, body, tag, err = f.visit(ctx, url, token, etag)
		return controlplanetest.Holds(err == nil && status == want && has(body), "%d %.300s (%v)", status, body, err)
	})
	return body, tag
}

func (f *fixture) page(scheme, path string) string {
	return scheme + "://" + f.operator.MetricsAddress() + path
}

func anything(string) bool { return true }

func TestTheStatusPageIsForThoseWithTheRightAndShowsWhatChanges(t *testing.T) {
	tier.Full(t)
	f := newOwnFixture(t, "--status-page")
	f.must(f.cp.ApplyFS(t.Context(), config.StatusPage))
	reader, err := f.cp.ServiceAccount(t.Context(), f.namespace, "reader")
	f.must(err)
	stranger, err := f.cp.ServiceAccount(t.Context(), f.namespace, "stranger")
	f.must(err)
	for _, what := range []string{"status-reader", "metrics-reader"} {
		f.must(f.client.Create(t.Context(), &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: what},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "fairlead-" + what},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: f.namespace, Name: "reader"}},
		}))
	}
	for _, path := range []string{"/status", "/status.json"} {
		f.awaitVisit(f.page("http", path), reader.BearerToken, "", http.StatusOK, anything)
		f.awaitVisit(f.page("http", path), stranger.BearerToken, "", http.StatusForbidden, anything)
		f.awaitVisit(f.page("http", path), "", "", http.StatusUnauthorized, anything)
		f.awaitVisit(f.page("http", path), "nonsense", "", http.StatusUnauthorized, anything)
	}
	f.exampleProxy()
	f.servedCluster("c1")
	shown := func(body string) bool { return strings.Contains(body, `"c1"`) }
	var page, etag string
	controlplanetest.Await(t, "a page that stays as it is", func(ctx context.Context) (bool, error) {
		page, etag = f.awaitVisit(f.page("http", "/status"), reader.BearerToken, "", http.StatusOK, shown)
		status, _, _, err := f.visit(ctx, f.page("http", "/status"), reader.BearerToken, etag)
		return controlplanetest.Holds(err == nil && status == http.StatusNotModified, "it is answered %d (%v)", status, err)
	})
	if strings.Contains(page, "mySuperSecretPassword") || strings.Contains(page, "myProxyUser") {
		t.Error("the page has a password")
	}
	f.servedCluster("c2")
	f.awaitVisit(f.page("http", "/status"), reader.BearerToken, etag, http.StatusOK, func(body string) bool { return shown(body) && strings.Contains(body, `"c2"`) })
	body, _ := f.awaitVisit(f.page("http", "/status.json"), reader.BearerToken, "", http.StatusOK, anything)
	var p picture.Picture
	f.must(json.Unmarshal([]byte(body), &p))
	if len(p.Clusters) != 2 {
		t.Errorf("%s", body)
	}
	// The metrics are for everybody, unless they are secure.
	if _, err := f.operator.Metrics(t.Context()); err != nil {
		t.Error(err)
	}
	f.awaitPageRights()
	f.must(f.operator.Stop())
	f.startOperator("--metrics-secure", "--status-page")
	for _, visit := range []struct {
		path, token string
		status      int
		has         string
	}{
		{"/metrics", reader.BearerToken, http.StatusOK, "go_goroutines"},
		{"/metrics", stranger.BearerToken, http.StatusForbidden, ""},
		{"/metrics", "", http.StatusUnauthorized, ""},
		{"/status", "", http.StatusUnauthorized, "<form"}, // its own page, with a form for a token
	} {
		f.awaitVisit(f.page("https", visit.path), visit.token, "", visit.status, func(body string) bool { return strings.Contains(body, visit.has) })
	}
}

// awaitPageRights sweeps what the operator's token may do now.
func (f *fixture) awaitPageRights() {
	f.Helper()
	var role rbacv1.ClusterRole
	f.must(f.client.Get(f.Context(), client.ObjectKey{Name: "fairlead-status-page"}, &role))
	if len(role.Rules) != len(ofStatusPage) {
		f.Errorf("%v", role.Rules)
	}
	want := rights.Union(everywhere, f.infrastructure(), ofStatusPage)
	for _, owner := range []string{"machinedeployments.cluster.x-k8s.io", "kubeadmcontrolplanes.controlplane.cluster.x-k8s.io"} { // config/rollout
		delete(want, owner)
	}
	rightstest.May(f, f.cp, f.operator.Config, ofStatusPage, map[string]rights.Table{f.namespace: want})
	rightstest.UsesAll(f, f.cp, operator.User, ofStatusPage)
}

func TestWithoutTheFlagThereIsNoStatusPage(t *testing.T) {
	f := newFixture(t)
	for _, path := range []string{"/status", "/status.json"} {
		f.awaitVisit(f.page("http", path), f.cp.Admin().BearerToken, "", http.StatusNotFound, anything)
	}
}
