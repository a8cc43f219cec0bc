package anp_test

import (
	"context"
	"crypto/rand"
	"net"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/kyverno"
	"github.com/fairlead-io/fairlead/e2e/machine"
	"github.com/fairlead-io/fairlead/e2e/tier"
	"github.com/fairlead-io/fairlead/e2e/tunnels"
)

func TestAnAPIServerReachesPodsServicesAndNodesThroughATunnelThatLeavesByTheProxy(t *testing.T) {
	tier.Full(t)
	tunnels.Complete(t)
	t.Parallel()
	for _, engine := range []tunnels.Engine{tunnels.Kyverno, tunnels.Mutate} {
		t.Run("by "+string(engine), func(t *testing.T) {
			t.Parallel()
			v := versions[len(versions)-1]
			s := newSeed(t, v, machine.SquidOptions{Password: "another", ReadTimeout: tunnels.Patience})
			s.populate(t)
			unmutated, mutated := s.excluded(t, podOf(t, upstream(t))), s.agent(t, engine)
			prometheus := s.prometheus(t)
			s.site.checkOutside(t, unmutated)
			prometheus.checkBlind(t)
			s.site.checkPassword(t, mutated)
			s.site.checkRestart(t)
			prometheus.checkSees(t)
			s.site.checkIdle(t)
			prometheus.checkSees(t)
			s.site.checkRequests(t)
			prometheus.checkBlind(t)
			tunnels.Record(t, tunnels.Row{
				Agent: "Gardener konnectivity (GEP-11)", Version: v.name, Way: tunnels.Environment,
				Set:        "as the apiserver-network-proxy agent",
				CannotWork: "the proposal was dropped, see Gardener vpn-shoot; a policy, where its webhook is behind the tunnel",
				Engine:     engine, Result: "passes",
			})
		})
	}
}

// agent is the pod as the engine makes it. Kyverno is given by URL and so, unlike a Service, not behind the tunnel: it
// acts while there is none.
func (s *seed) agent(t *testing.T, engine tunnels.Engine) *corev1.Pod {
	t.Helper()
	printed := s.excluded(t, podOf(t, mutate(t, upstream(t))))
	if engine == tunnels.Mutate {
		return printed
	}
	s.startKyverno(t, kyverno.Options{})
	stored := s.mutated(t, podOf(t, upstream(t)))
	checkSame(t, map[tunnels.Engine]*corev1.Pod{tunnels.Kyverno: stored, tunnels.Mutate: printed})
	return stored
}

// prometheus is an account of the API server that may have it ask what is behind the tunnel.
type prometheus struct{ clients kubernetes.Interface }

func (s *seed) prometheus(t *testing.T) prometheus {
	t.Helper()
	cfg, err := s.cp.ServiceAccount(t.Context(), metav1.NamespaceDefault, "prometheus")
	controlplanetest.Require(t, err)
	clients, err := kubernetes.NewForConfig(cfg)
	controlplanetest.Require(t, err)
	return prometheus{clients}
}

// targets are its paths, and who answers there.
var targets = map[string]string{
	"/api/v1/namespaces/default/pods/web:8080/proxy/":    net.JoinHostPort(podAddress, "8080"),
	"/api/v1/namespaces/default/services/shop:80/proxy/": net.JoinHostPort(backendAddress, "8080"),
	"/api/v1/nodes/worker/proxy/":                        net.JoinHostPort(nodeAddress, kubeletPort),
}

func (p prometheus) get(ctx context.Context, path string) (string, error) {
	answer, err := p.clients.CoreV1().RESTClient().Get().AbsPath(path).DoRaw(ctx)
	return string(answer), err
}

// checkSees: each of them is asked for something that nobody has asked for before.
func (p prometheus) checkSees(t *testing.T) {
	t.Helper()
	for path, address := range targets {
		nonce := rand.Text()
		if answer, err := p.get(t.Context(), path+nonce); err != nil || answer != address+" was asked for /"+nonce {
			t.Errorf("%s says %q (%v)", path, answer, err)
		}
	}
}

// checkBlind: without a tunnel none of them is.
func (p prometheus) checkBlind(t *testing.T) {
	t.Helper()
	for path := range targets {
		if answer, err := p.get(t.Context(), path); err == nil {
			t.Errorf("without a tunnel %s says %q", path, answer)
		}
	}
}
