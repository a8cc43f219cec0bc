package observe_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/observe"
	"github.com/fairlead-io/fairlead/e2e/process"
	"github.com/fairlead-io/fairlead/internal/core/probe"
)

// standIns play the API servers of a fleet: a listener with TLS for each, which answers for one ConfigMap. They are not Cluster
// API's in-memory ones, which make two RSA keys for each cluster and would take longer to start than the test.
type standIns struct {
	authority []byte

	mu      sync.Mutex
	open    int
	most    int
	all     int
	answers map[string]int // by address
}

func (s *standIns) state(_ net.Conn, state http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch state {
	case http.StateNew:
		s.open++
		s.all++
		s.most = max(s.most, s.open)
	case http.StateClosed:
		s.open--
	default:
	}
}

func (s *standIns) connections() (open, most, all int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open, s.most, s.all
}

// certificateOf signs one for the loopback interface with an authority, or with itself.
func certificateOf(t *testing.T, until time.Time, parent *tls.Certificate) *tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	controlplanetest.Require(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "stand-in"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: until.Add(-48 * time.Hour), NotAfter: until, IsCA: parent == nil, BasicConstraintsValid: true,
	}
	issuer, signer := template, any(key)
	if parent != nil {
		issuer, signer = parent.Leaf, parent.PrivateKey
	}
	der, err := x509.CreateCertificate(rand.Reader, template, issuer, key.Public(), signer)
	controlplanetest.Require(t, err)
	leaf, err := x509.ParseCertificate(der)
	controlplanetest.Require(t, err)
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

// listen starts one and returns its address.
func (s *standIns) listen(t *testing.T, certificate *tls.Certificate) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	controlplanetest.Require(t, err)
	address := listener.Addr().String()
	server := &http.Server{
		ConnState: s.state, ErrorLog: log.New(io.Discard, "", 0), ReadHeaderTimeout: time.Minute,
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{*certificate}, MinVersion: tls.VersionTLS12},
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer token-of-"+address || !strings.HasSuffix(r.URL.Path, "/configmaps/"+probe.ConfigMapName) {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			s.mu.Lock()
			s.answers[address]++
			s.mu.Unlock()
			result, _ := json.Marshal(observe.Good(time.Now()))
			_ = json.NewEncoder(w).Encode(map[string]any{"data": map[string]string{probe.ResultKey: string(result)}})
		}),
	}
	go func() { _ = server.ServeTLS(listener, "", "") }()
	t.Cleanup(func() { _ = server.Close() })
	return address
}

func (s *standIns) kubeconfig(t *testing.T, address string) []byte {
	t.Helper()
	config := clientcmdapi.NewConfig()
	config.Clusters["c"] = &clientcmdapi.Cluster{Server: "https://" + address, CertificateAuthorityData: s.authority}
	config.AuthInfos["u"] = &clientcmdapi.AuthInfo{Token: "token-of-" + address}
	config.Contexts["c"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	config.CurrentContext = "c"
	text, err := clientcmd.Write(*config)
	controlplanetest.Require(t, err)
	return text
}

// Of the clusters, one hangs, one has a certificate that has expired, and one is gone. What was measured is in docs/how-to/observe.md.
func TestAFleetOfTwoThousand(t *testing.T) {
	n, period := 2000, time.Minute
	if given := os.Getenv("CLUSTERS"); given != "" {
		n, _ = strconv.Atoi(given)
	}
	if given, err := time.ParseDuration(os.Getenv("PERIOD")); err == nil {
		period = given
	}
	f := newFixture(t)
	authority := certificateOf(t, time.Now().Add(time.Hour), nil)
	s := &standIns{answers: map[string]int{}, authority: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: authority.Certificate[0]})}
	valid, expired := certificateOf(t, time.Now().Add(time.Hour), authority), certificateOf(t, time.Now().Add(-time.Hour), authority)
	silent, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	f.must(err)
	t.Cleanup(func() { _ = silent.Close() })
	special := map[int]string{1: silent.Addr().String(), 2: s.listen(t, expired), 3: "127.0.0.1:1"} // one of those that the kernel gives away might be taken again
	var group errgroup.Group
	group.SetLimit(8)
	for i := range n {
		address, is := special[i]
		if !is {
			address = s.listen(t, valid)
		}
		kubeconfig := s.kubeconfig(t, address)
		group.Go(func() error {
			name := fmt.Sprint("c", i)
			if _, err := f.report(t.Context(), name); err != nil {
				return err
			}
			return f.client.Create(t.Context(), observe.SecretOf(f.namespace, name, kubeconfig))
		})
	}
	f.must(group.Wait())
	began := time.Now()
	f.start("--period="+period.String(), "--parallel=50")
	f.sweeps(n)

	for i, why := range map[int]string{1: "does not answer within", 2: "expired", 3: "nobody listens"} {
		status := f.await(fmt.Sprint("c", i), why, egress(v1alpha1.EgressUnknown))
		if !strings.Contains(status.Observed.Message, why) || !status.Observed.Time.IsZero() {
			t.Errorf("c%d: %+v", i, status.Observed)
		}
	}
	memory, err := process.MemoryOf(f.observe.PID())
	f.must(err)
	spent, err := process.CPUTime(f.observe.PID())
	f.must(err)
	_, most, all := s.connections()
	t.Logf("%d clusters in %s: memory %+v, processor time %s, at most %d connections at a time, %d in all", n, period, memory, spent, most, all)
	if most > 100 { // 50, and those whose end the stand-in has not noticed
		t.Errorf("%d connections at a time", most)
	}
	controlplanetest.Await(t, "the end of all connections but those of a sweep", func(context.Context) (bool, error) {
		open, _, _ := s.connections()
		if open > 50 {
			return false, fmt.Errorf("%d are open", open)
		}
		return true, nil
	})
	sweeps := f.writtenOnce(n, began, period)
	s.mu.Lock()
	defer s.mu.Unlock()
	for address, times := range s.answers {
		if times > sweeps {
			t.Errorf("%s was asked %d times", address, times)
		}
	}
	if len(s.answers) != n-3 {
		t.Errorf("%d clusters were asked", len(s.answers))
	}
}

// sweeps awaits that the metrics tell of one sweep over n clusters.
func (f *fixture) sweeps(n int) {
	f.Helper()
	want := fmt.Sprintf("fairlead_observe_clusters{result=\"reached\"} %d\n", n-3)
	const took = "\nfairlead_observe_sweep_seconds "
	var text string
	controlplanetest.AwaitWithin(f, 10*time.Minute, "the end of a sweep", func(ctx context.Context) (_ bool, err error) {
		if text, err = f.observe.Metrics(ctx); err == nil && (!strings.Contains(text, want) || !strings.Contains(text, took)) {
			err = errors.New(text)
		}
		return true, err
	})
	for _, result := range []string{"timeout", "certificate", "refused"} {
		if !strings.Contains(text, "fairlead_observe_clusters{result=\""+result+"\"} 1\n") {
			f.Errorf("no cluster is %s", result)
		}
	}
	_, line, _ := strings.Cut(text, took)
	line, _, _ = strings.Cut(line, "\n")
	f.Log("seconds of the sweep: " + line)
}

// writtenOnce requires that each report was written once in a sweep, of which there are so many at most: the next may have
// begun.
func (f *fixture) writtenOnce(n int, began time.Time, period time.Duration) (sweeps int) {
	f.Helper()
	events, err := f.cp.AuditEvents(0, controlplane.ByUser(observe.User), controlplane.Writes, isReal)
	f.must(err)
	sweeps = int(time.Since(began)/period) + 2
	writes := map[string]int{}
	for _, event := range events {
		if event.ObjectRef.Resource != "proxyreports" || event.ObjectRef.Subresource != "status" {
			f.Errorf("it wrote %+v", event.ObjectRef)
		}
		writes[event.ObjectRef.Name]++
	}
	for name, times := range writes {
		if times > sweeps {
			f.Errorf("%s was written %d times", name, times)
		}
	}
	if len(writes) != n {
		f.Errorf("%d of %d reports were written", len(writes), n)
	}
	return sweeps
}
