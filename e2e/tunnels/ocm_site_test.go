package tunnels_test

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/machine"
	"github.com/fairlead-io/fairlead/e2e/process"
	"github.com/fairlead-io/fairlead/e2e/tools"
)

// ocmSite has the managed cluster in corp, and the hub in internet: a real API server, proxy server and user server.
type ocmSite struct {
	*site
	users func(context.Context) (net.Conn, error) // to where the user server listens
}

const userServer = "cluster-proxy-addon-user." + hubNamespace + ".svc"

// ocmSite is without the hub's servers. squid may know more names.
func (c *cluster) ocmSite(t *testing.T, namespace string, options machine.SquidOptions) *ocmSite {
	t.Helper()
	s := &ocmSite{site: c.site(t, "open-cluster-management-"+namespace, options, 8091, 8090, 6443)}
	// The image of v0.10.0 has the agent and server of apiserver-network-proxy 0.30.2 (its cmd/Dockerfile); 0.31.4 is the
	// nearest here, with the same dialer.
	for command, tool := range map[string]tools.Tool{
		"/proxy-agent": tools.ANPAgent031, "/agent": tools.ClusterProxyAddonAgent, "/cluster-proxy": tools.ClusterProxy,
	} {
		s.node.Programs[command] = build(t, tool)
	}
	s.name(t, machine.ServiceAddress, "kubernetes.default.svc")
	s.serveAPI(t)
	s.bridge(t, machine.Internet, machine.HubAddress+":6443", c.hub)
	s.users = s.userServerAt(machine.Internet, machine.HubAddress)
	s.ask = s.reach
	return s
}

func (s *ocmSite) userServerAt(where machine.Namespace, address string) func(context.Context) (net.Conn, error) {
	return func(ctx context.Context) (net.Conn, error) { return s.network.Dial(ctx, where, address+":9092") }
}

// name is one more that corp knows.
func (s *ocmSite) name(t *testing.T, address, name string) {
	t.Helper()
	hosts, err := os.OpenFile(s.network.Path("/etc/hosts"), os.O_APPEND|os.O_WRONLY, 0)
	controlplanetest.Require(t, err)
	_, err = fmt.Fprintln(hosts, address, name)
	controlplanetest.Require(t, errors.Join(err, hosts.Close()))
}

// startHub runs both servers.
func (s *ocmSite) startHub(t *testing.T) {
	t.Helper()
	s.startProxyServer(t, machine.Internet)
	s.startUserServer(t)
}

// startProxyServer runs the hub's proxy server with the arguments of pkg/proxyserver/controllers/manifests.go.
func (s *ocmSite) startProxyServer(t *testing.T, where machine.Namespace) {
	t.Helper()
	ca, certificate, key := s.issue(t, machine.HubName, entrypoint, entrypoint+".svc", "localhost")
	s.start(t, where, "", process.Spec{Name: "proxy-server", Path: build(t, tools.ANPServer031), Args: []string{
		"--server-count=1", "--proxy-strategies=destHost",
		"--server-ca-cert=" + ca, "--server-cert=" + certificate, "--server-key=" + key,
		"--cluster-ca-cert=" + ca, "--cluster-cert=" + certificate, "--cluster-key=" + key,
	}})
}

// startUserServer runs the hub's user server with the arguments of charts/cluster-proxy/templates/user-deployment.yaml.
func (s *ocmSite) startUserServer(t *testing.T) {
	t.Helper()
	hub := s.hub.Admin()
	hub.Host = "https://" + machine.HubAddress + ":6443"
	kubeconfig, err := s.hub.Kubeconfig(hub)
	controlplanetest.Require(t, err)
	ca, clientCertificate, clientKey := s.issue(t, "user-server")
	_, certificate, key := s.issue(t, userServer)
	s.start(t, machine.Internet, "", process.Spec{
		Name: "user-server", Env: []string{"KUBECONFIG=" + kubeconfig}, Path: s.node.Programs["/cluster-proxy"], Args: []string{
			"user-server", "--host=localhost", "--port=8090", "--proxy-ca-cert=" + ca, "--proxy-cert=" + clientCertificate, "--proxy-key=" + clientKey,
			"--server-port=9092", "--server-cert=" + certificate, "--server-key=" + key, "--service-proxy-ca-cert=" + ca,
			"--agent-install-namespace=open-cluster-management-agent-addon",
		},
	})
}

// get asks the user server, as somebody on the hub. What the answer is, if it is not 200, is the error.
func (s *ocmSite) get(ctx context.Context, path string, headers ...string) (string, error) {
	status, body, err := get(ctx, s.users, &tls.Config{RootCAs: s.authority.Pool()}, "https://"+userServer+":9092/"+managed+path, headers...)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("%d: %s", status, body)
	}
	return body, err
}

// reach asks for something of the managed cluster, by a path that was never asked for.
func (s *ocmSite) reach(ctx context.Context) error {
	nonce := rand.Text()
	body, err := s.get(ctx, "/api/v1/namespaces/shop/services/http:web:80/proxy-service/"+nonce)
	return expect(answer(service, "/"+nonce), body, err)
}

// checkHubUser: service-proxy has somebody's token reviewed, first by its own cluster and then by the hub. Who is of
// the hub alone reads what they may of the managed cluster.
func (s *ocmSite) checkHubUser(t *testing.T) error {
	t.Helper()
	visitor, err := s.hub.ServiceAccount(t.Context(), "default", "visitor")
	controlplanetest.Require(t, err)
	body, err := s.get(t.Context(), "/api/v1/namespaces/default/configmaps/greeting", "Authorization", "Bearer "+visitor.BearerToken)
	if err == nil && !strings.Contains(body, "hello from the spoke") {
		err = fmt.Errorf("the answer is %s", body)
	}
	return err
}

// checkGRPC: who speaks gRPC with the proxy server, without a user server, gets to what the agent reaches.
func (s *ocmSite) checkGRPC(t *testing.T) {
	t.Helper()
	serve(t, s.listen(t, machine.Corp, "127.0.0.1:8081"), service) // the agent's pod has an alias for it
	ca, certificate, key := s.issue(t, "konnectivity-client")
	nonce := rand.Text()
	p := s.start(t, machine.Internet, "", process.Spec{Name: "test-client", Path: build(t, tools.ANPTestClient034), Args: []string{
		"--mode=grpc", "--proxy-host=localhost", "--proxy-port=8090",
		"--ca-cert=" + ca, "--client-cert=" + certificate, "--client-key=" + key,
		"--request-host=" + serviceProxyHost(managed), "--request-port=8081", "--request-path=" + nonce, "--v=4",
	}})
	awaitLog(t, []*process.Process{p}, answer(service, "/"+nonce))
}

// standInForServiceProxy answers in the place of the container.
func (s *ocmSite) standInForServiceProxy(t *testing.T) {
	t.Helper()
	_, certificate, key := s.issue(t, serviceProxyHost(managed))
	pair, err := tls.LoadX509KeyPair(certificate, key)
	controlplanetest.Require(t, err)
	serve(t, tls.NewListener(s.listen(t, machine.Corp, "127.0.0.1:7443"), &tls.Config{Certificates: []tls.Certificate{pair}}), service)
}
