package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/internal/cli"
	"github.com/fairlead-io/fairlead/internal/core/picture"
	"github.com/fairlead-io/fairlead/internal/core/picture/picturetest"
)

const leasesPath = "/apis/coordination.k8s.io/v1/namespaces/fairlead-system/leases"

// pictured returns what an API server has of a fleet, by path.
func pictured(t testing.TB, clusters int) map[string][]string {
	t.Helper()
	reports, proxies, metadata := picturetest.Fleet(clusters, time.Now())
	objects := map[string][]string{leasesPath: {fmt.Sprintf(
		`{"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "fairlead-operator"}, "spec": {"holderIdentity": "pod", "leaseDurationSeconds": 15, "renewTime": %q}}`,
		time.Now().UTC().Format(metav1.RFC3339Micro))}}
	add := func(path string, object any) {
		text, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		objects[path] = append(objects[path], string(text))
	}
	for i := range reports {
		add(reportsPath, reports[i])
		add(clustersPath, metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadata"}, ObjectMeta: metadata[i]})
	}
	for i := range proxies {
		add(proxiesPath, proxies[i])
	}
	return objects
}

// paged answers as an API server does that is asked for pages: the continuation is where the next one begins.
func paged(objects map[string][]string, seen func(*http.Request)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		seen(r)
		all, next := objects[r.URL.Path], ""
		from, _ := strconv.Atoi(r.URL.Query().Get("continue"))
		if limit, _ := strconv.Atoi(r.URL.Query().Get("limit")); limit > 0 && from+limit < len(all) {
			all, next = all[:from+limit], strconv.Itoa(from+limit)
		}
		kind := "List"
		if strings.Contains(r.Header.Get("Accept"), "PartialObjectMetadataList") {
			kind = "PartialObjectMetadataList"
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"apiVersion": "v1", "kind": %q, "metadata": {"continue": %q}, "items": [%s]}`, kind, next, strings.Join(all[from:], ","))
	}
}

// A picture of five thousand clusters costs a list of each kind, in pages, and of Clusters the metadata alone.
func TestThePictureOfFiveThousandClustersTakes22Requests(t *testing.T) {
	metadata := 0
	server, kubeconfig := newServer(t, paged(pictured(t, 5000), func(r *http.Request) {
		if strings.Contains(r.Header.Get("Accept"), "PartialObjectMetadataList") {
			metadata++
		}
	}))
	var out, errs bytes.Buffer
	began := time.Now()
	if status := cli.Run([]string{"status", "-A", "-o", "json", "--kubeconfig", kubeconfig}, strings.NewReader(""), &out, &errs); status != 0 || errs.Len() > 0 {
		t.Fatalf("status %d: %s", status, errs.String())
	}
	t.Logf("%s", time.Since(began)) // which the machine decides, too
	var p picture.Picture
	if err := json.Unmarshal(out.Bytes(), &p); err != nil {
		t.Fatal(err)
	}
	if len(p.Clusters) != 5000 || p.States[0].Clusters != 60 || p.Unread != nil {
		t.Errorf("%d clusters, %+v; not looked at: %q", len(p.Clusters), p.States, p.Unread)
	}
	counts := map[string]int{}
	for _, path := range server.asked {
		counts[path]++
	}
	if want := map[string]int{reportsPath: 10, proxiesPath: 1, clustersPath: 10, leasesPath: 1}; !maps.Equal(counts, want) || metadata != 10 {
		t.Errorf("asked %v, want %v; %d times for metadata", counts, want, metadata)
	}
}

func TestThePictureOnATerminal(t *testing.T) {
	_, kubeconfig := newServer(t, paged(pictured(t, 40), func(*http.Request) {}))
	var out bytes.Buffer
	if status := cli.Run([]string{"status", "-A", "--kubeconfig", kubeconfig}, strings.NewReader(""), &out, &out); status != 0 {
		t.Errorf("status %d", status)
	}
	got := regexp.MustCompile(`20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ`).ReplaceAllString(out.String(), "TIME")
	want := `40 clusters: 1 Error, 2 Warning, 1 Unknown, 2 Waiting, 34 Fine

STATE     NUMBER   FOR             PROBLEM
Error     1        not Ready 18h   the API server refused a Secret (Ready/Refused): team-warsaw/warsaw-0017
                                   fairlead doctor cluster --namespace team-warsaw warsaw-0017
Warning   1        40m             a certificate of the company's bundle expires soon (TrustedCA/ExpiresSoon): CorporateProxy europe
                                   kubectl describe corporateproxy europe
Warning   2        30d             machines were created before the settings changed, and keep the old ones until they are replaced (MachinesOutdated/BuiltBeforeTheChange): team-dublin/dublin-0004, team-warsaw/warsaw-0024
                                   fairlead doctor cluster --namespace team-dublin dublin-0004
Unknown   1        10h             nobody has looked for two periods whether programs in the cluster get out, and which credentials they have (EgressVerified/Stale): team-madrid/madrid-0009
                                   fairlead doctor cluster --namespace team-madrid madrid-0009
Waiting   1        40m             a change goes through the waves (Reconciling/RollingOut): CorporateProxy europe
                                   fairlead rollout status europe
Waiting   2        37h             a change of the cluster's own waits (Held/WaitsForWave): team-paris/paris-0036, team-dublin/dublin-0011
                                   fairlead doctor cluster --namespace team-paris paris-0036

CORPORATEPROXY   CLUSTERS   REVISION   PHASE         WAVE   UPDATED   FAILED   MORE
europe           40         8          Progressing   rest   13/40     0        fairlead rollout status europe
plain            5          -          -             -      -         -        kubectl describe corporateproxy plain

BEHIND                              NUMBER   OF    CLUSTERS   FOR   MORE
machines with older settings        16       800   2          30d   fairlead nodes --all-namespaces --outdated
pods with older credentials         41       -     -          -     kubectl describe corporateproxy europe
relays with older credentials       3        -     -          -     kubectl describe corporateproxy europe
namespaces with older credentials   12       -     -          -     kubectl describe corporateproxy europe

EXPIRES                                  AT                     IN    MORE
a certificate of CorporateProxy europe   TIME   21d   kubectl describe corporateproxy europe
`
	if got != want {
		t.Errorf("it says\n%s\nwant\n%s", got, want)
	}
}

// Whoever may not list something sees the rest, and what is missing. Without the reports there is nothing.
func TestWhatMayNotBeListedIsNamed(t *testing.T) {
	forbidden := map[string]bool{clustersPath: true, leasesPath: true, proxiesPath: true}
	fleet := paged(pictured(t, 40), func(*http.Request) {})
	_, kubeconfig := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		if !forbidden[r.URL.Path] {
			fleet(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403, "message": "forbidden"}`)
	})
	run := func() (int, string) {
		var out bytes.Buffer
		return cli.Run([]string{"status", "-A", "--kubeconfig", kubeconfig}, strings.NewReader(""), &out, &out), out.String()
	}
	status, text := run()
	if status != 0 || strings.Contains(text, "NotFound") || strings.Contains(text, "CORPORATEPROXY") || !strings.HasSuffix(text, `
Not looked at: Lease of the operator: you need the right to list leases.coordination.k8s.io in the namespace fairlead-system
Not looked at: Cluster: you need the right to list clusters.cluster.x-k8s.io in a ClusterRole
Not looked at: CorporateProxy: you need the right to list corporateproxies.fairlead.io in a ClusterRole
`) {
		t.Errorf("status %d: %s", status, text)
	}
	forbidden[reportsPath] = true
	if status, text = run(); status != 1 || !strings.Contains(text, "listing ProxyReports") {
		t.Errorf("status %d: %s", status, text)
	}
}
