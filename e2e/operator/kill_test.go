package operator_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/wait"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/tier"
	"github.com/fairlead-io/fairlead/internal/core/render"
)

// Everything in the proxy's Secret changes at once, so that a Secret with something of both is known.
const (
	killedOldURL     = "http://fleet:old-Password@192.168.52.220:3128"
	killedOldNoProxy = "172.16.0.0/16,old.example.com"
)

var toNew = strings.NewReplacer("old-Password", "new-Password", "192.168.52.220", "192.168.52.221", "old.example.com", "new.example.com")

// While one change goes through the fleet, the operator, the API server and etcd are killed, one after the other. A watch
// on etcd sees every version of every Secret: each is whole, the old or the new.
func TestKillsDuringAFanOutLeaveEverySecretWhole(t *testing.T) {
	tier.Full(t)
	const size = 150                         // big enough to be caught in the act
	f := newOwnFixture(t, "--concurrency=4") // slow enough to be caught in the act
	h := watchEtcd(f)
	limit := h.gate()
	f.source("killed", map[string]string{"http": killedOldURL, "https": killedOldURL, "noProxy": killedOldNoProxy})
	f.awaitProxy(f.proxy("killed"), "Ready", func(p *v1alpha1.CorporateProxy) bool {
		return meta.IsStatusConditionTrue(p.Status.Conditions, v1alpha1.ConditionReady)
	})
	for i := range size {
		f.cluster(killedName(i), func(c *clusterv1.Cluster) { c.Spec.ControlPlaneEndpoint.Host = killedHost(i) })
	}
	patience := 2*time.Minute + time.Duration(size)*200*time.Millisecond
	h.await(patience, "the first version of every Secret", func() bool { return len(h.versions) == 2*size })
	f.awaitReady(size)

	limit.Store(0)
	f.setSource("killed", func(data map[string][]byte) {
		for key, value := range data {
			data[key] = []byte(toNew.Replace(string(value)))
		}
	})
	for _, victim := range []struct {
		name  string
		after int // percent of the Secrets
		kill  func()
		start func(context.Context) error
	}{
		{"the operator", 10, func() { f.operator.Kill() }, func(context.Context) error { f.startOperator("--concurrency=4"); return nil }},
		{"the API server", 30, f.cp.KillAPIServer, f.startAPIServerOnceItIsMissed},
		{"etcd", 50, f.cp.KillEtcd, f.cp.StartEtcd},
	} {
		limit.Store(int64(victim.after+20) * 2 * int64(size) / 100)
		h.await(patience, "the fan-out, to kill "+victim.name, func() bool { return h.new*100 >= victim.after*2*size })
		victim.kill()
		if written := h.written(); written == 2*size {
			t.Fatalf("the fan-out was over before %s was killed", victim.name)
		} else {
			t.Logf("%s is killed: %d of %d Secrets are new", victim.name, written, 2*size)
		}
		f.must(victim.start(t.Context()))
	}
	limit.Store(math.MaxInt64)
	h.await(patience, "the new content of every Secret", func() bool { return h.new == 2*size })
	f.awaitReady(size)
	h.stop()
	for i := range size {
		f.checkOld(h, i)
	}
	h.check()
}

func (f *fixture) startAPIServerOnceItIsMissed(ctx context.Context) error {
	controlplanetest.Await(f, "the operator's failure", func(context.Context) (bool, error) {
		log, err := f.operator.Log()
		return controlplanetest.Holds(strings.Contains(log, "connection refused"), "its log ends with %q (%v)", log[max(0, len(log)-500):], err)
	})
	return f.cp.StartAPIServer(ctx)
}

// gate is a webhook: it holds changes of Secrets once so many are new, so that no fan-out is over before its time, however
// late the test sees how far it is. It is open at first.
func (h *etcdHistory) gate() (limit *atomic.Int64) {
	h.Helper()
	limit = &atomic.Int64{}
	limit.Store(math.MaxInt64)
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review admissionv1.AdmissionReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		err := wait.PollUntilContextCancel(r.Context(), 10*time.Millisecond, true, func(context.Context) (bool, error) {
			return int64(h.written()) < limit.Load(), nil
		})
		if err != nil { // who asked has gone
			return
		}
		review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
		_ = json.NewEncoder(w).Encode(review)
	}))
	h.Cleanup(func() {
		limit.Store(math.MaxInt64)
		server.Close()
	})
	const webhook = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: gate}
webhooks:
- name: gate.fairlead.test
  clientConfig: {url: %q, caBundle: %s}
  rules: [{operations: [UPDATE], apiGroups: [""], apiVersions: [v1], resources: [secrets]}]
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: %s}}
  timeoutSeconds: 30 # then the operator tries again
  sideEffects: None
  admissionReviewVersions: [v1]
`
	authority := base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	h.must(h.cp.Apply(h.Context(), fmt.Appendf(nil, webhook, server.URL, authority, h.namespace)))
	return limit
}

func killedName(i int) string { return fmt.Sprintf("killed-%04d", i) }
func killedHost(i int) string { return fmt.Sprintf("10.20.%d.%d", i/200, i%200) }

// awaitReady awaits the reports of all clusters of this test.
func (f *fixture) awaitReady(size int) {
	f.Helper()
	controlplanetest.Await(f, "the fleet's reports", func(ctx context.Context) (bool, error) {
		reports := &v1alpha1.ProxyReportList{}
		if err := f.client.List(ctx, reports, client.InNamespace(f.namespace)); err != nil {
			return false, err
		}
		for i := range reports.Items {
			if meta.IsStatusConditionFalse(reports.Items[i].Status.Conditions, v1alpha1.ConditionReady) || len(reports.Items[i].Status.Secrets) != 2 {
				return false, fmt.Errorf("%s is not ready", reports.Items[i].Name)
			}
		}
		return controlplanetest.Holds(len(reports.Items) == size, "there are %d reports", len(reports.Items))
	})
}

// checkOld: what the first versions of a cluster's Secrets say, which the later ones are compared with.
func (f *fixture) checkOld(h *etcdHistory, i int) {
	f.Helper()
	noProxy := fmt.Sprintf("cluster.local,100.64.0.0/13,100.96.0.0/11,%s,%s,svc,127.0.0.1,localhost", killedHost(i), killedOldNoProxy)
	values, systemd := h.versions[killedName(i)+render.ValuesSuffix], h.versions[killedName(i)+render.SystemdSuffix]
	if len(values) == 0 || len(systemd) == 0 {
		f.Errorf("%s lacks a Secret", killedName(i))
		return
	}
	for name, text := range map[string][]byte{
		"values": values[0].data[render.ValuesKey], "containerd": systemd[0].data[render.ContainerdKey], "kubelet": systemd[0].data[render.KubeletKey],
	} {
		for _, want := range []string{killedOldURL, noProxy} {
			if !strings.Contains(string(text), want) {
				f.Errorf("%s of %s lacks %s:\n%s", name, killedName(i), want, text)
			}
		}
	}
	if len(values[0].data) != 1 || len(systemd[0].data) != 2 {
		f.Errorf("%s has %d and %d keys", killedName(i), len(values[0].data), len(systemd[0].data))
	}
}
