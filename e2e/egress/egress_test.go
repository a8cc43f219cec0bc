// Package egress_test has the NetworkPolicy of "fairlead render -o networkpolicy" enforced, and compares what packets do with
// what "fairlead explain" says.
package egress_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/e2e/command"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/machine"
	"github.com/fairlead-io/fairlead/e2e/machine/machinetest"
	"github.com/fairlead-io/fairlead/e2e/repository"
)

func TestMain(m *testing.M) { controlplanetest.Main(m) }

const (
	user, password = "pod", "mySuperSecretPassword"
	proxyURL       = "http://" + user + ":" + password + "@" + machine.ProxyAddress + ":3128"
	internalWeb    = "172.16.0.1:8443" // in a listed network
	pods           = "100.96.0.0/11"
)

type site struct {
	*testing.T
	network  *machine.Network
	settings []string // flags
}

// newSite starts a listener at every destination, and opens a direct way to the internet. Companies have such a way
// whose firewall lets some networks out. Without it, no packet would need to be refused.
func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{T: t, network: machinetest.Network(t)}
	_, err := s.network.StartSquid(t.Context(), machine.SquidOptions{User: user, Password: password})
	s.must(err)
	for address, where := range map[string]machine.Namespace{
		machine.ServiceAddress + ":443": machine.Cluster, machine.EndpointAddress + ":6443": machine.Cluster, internalWeb: machine.Cluster,
		machine.InternetAddress + ":443": machine.Internet, machine.HubAddress + ":443": machine.Internet,
	} {
		machinetest.Accept(t, machinetest.Listen(t, s.network, where, address), func(net.Conn) {})
	}
	s.run(machine.Corp, "ip", "route", "add", "203.0.113.0/24", "via", machine.ProxyAddress)
	s.run(machine.Internet, "ip", "route", "add", machine.CorpAddress+"/32", "via", "203.0.113.2")
	s.run(machine.DMZ, "sysctl", "-qw", "net.ipv4.ip_forward=1")
	values := filepath.Join(t.TempDir(), "values.yaml")
	s.must(os.WriteFile(values, fmt.Appendf(nil, "proxy: {http: %q, https: %q, noProxy: \"172.16.0.0/16,internal.corpdomain.net,example.com\"}\n", proxyURL, proxyURL), 0o600))
	s.settings = []string{"--values", values, "--cluster", repository.Path("examples", "cluster.yaml")}
	return s
}

func (s *site) must(err error) { s.Helper(); controlplanetest.Require(s, err) }

func (s *site) run(where machine.Namespace, command ...string) {
	s.Helper()
	_, err := s.network.Run(s.Context(), where, nil, command...)
	s.must(err)
}

// command runs fairlead.
func (s *site) command(args ...string) (out, warnings string) {
	s.Helper()
	status, out, warnings := command.Run(s, nil, append(args, s.settings...)...)
	if status != 0 {
		s.Fatalf("%q: %d: %s", args, status, warnings)
	}
	return out, warnings
}

// explained returns the decision of a Go program about a URL, by fairlead explain.
func (s *site) explained(url string) string {
	s.Helper()
	out, _ := s.command("explain", url, "--client", "go", "-o", "json")
	var said []struct{ Decisions []struct{ Decision string } }
	if err := json.Unmarshal([]byte(out), &said); err != nil || len(said) != 1 || len(said[0].Decisions) != 1 {
		s.Fatalf("%v: %s", err, out)
	}
	return said[0].Decisions[0].Decision
}

// enforce stores the policy in a real API server, and applies the stored policy to the packets of corp, which stands
// for a pod.
func (s *site) enforce(policy string) {
	s.Helper()
	cp := controlplanetest.Shared(s)
	clients, namespace := controlplanetest.Clients(s, cp), controlplanetest.Namespace(s, cp)
	s.must(cp.Apply(s.Context(), []byte(strings.Replace(policy, "namespace: shop", "namespace: "+namespace, 1))))
	stored, err := clients.NetworkingV1().NetworkPolicies(namespace).Get(s.Context(), "fairlead-egress", metav1.GetOptions{})
	s.must(err)
	text, err := ruleset(*stored, pods)
	s.must(err)
	file := s.network.Path(machine.Dir, "policy.nft")
	s.must(os.WriteFile(file, []byte(text), 0o600))
	s.run(machine.Corp, "nft", "-f", filepath.Join(machine.Dir, "policy.nft"))
}

// direct says whether a packet to an address is answered, or refused.
func (s *site) direct(address string) (bool, error) {
	ctx, cancel := context.WithTimeout(s.Context(), time.Minute)
	defer cancel()
	conn, err := s.network.Dial(ctx, machine.Corp, address)
	if errors.Is(err, syscall.ECONNREFUSED) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, conn.Close()
}

// proxied says what the proxy answers to a CONNECT. Nobody serves TLS behind it, so curl fails after that.
func (s *site) proxied(host string) string {
	s.Helper()
	out, _ := s.network.Run(s.Context(), machine.Corp, nil, "curl", "--silent", "--output", "/dev/null", "--write-out", "%{http_connect}", "--proxy", proxyURL, "https://"+host)
	return string(out)
}

func TestPacketsGoWhereExplainSays(t *testing.T) {
	s := newSite(t)
	policy, warnings := s.command("render", "-o", "networkpolicy", "--namespace", "shop")
	destinations := map[string]struct {
		url, address string
		connect      string // for the proxy; empty: it is not asked
		byName       bool   // listed by a name, which no policy has
	}{
		"a Service":               {"https://" + machine.ServiceName, machine.ServiceAddress + ":443", "", false},
		"a Service's address":     {"https://" + machine.ServiceAddress, machine.ServiceAddress + ":443", "", false},
		"the API server":          {"https://" + machine.EndpointAddress + ":6443", machine.EndpointAddress + ":6443", "", false},
		"a listed network":        {"https://" + internalWeb, internalWeb, "", false},
		"the internet, by name":   {"https://" + machine.InternetName, machine.InternetAddress + ":443", machine.InternetName + ":443", false},
		"the internet":            {"https://" + machine.HubAddress, machine.HubAddress + ":443", machine.HubAddress + ":443", false},
		"listed, but by its name": {"https://www.example.com", machine.InternetAddress + ":443", "", true},
	}
	for name, d := range destinations { // without a policy, all of it is reached directly: or else refusing proves nothing
		if reached, err := s.direct(d.address); !reached {
			t.Fatalf("%s: before there is a policy: %v", name, err)
		}
	}
	s.enforce(policy)
	seen := map[string]int{}
	for name, d := range destinations {
		says := s.explained(d.url)
		seen[says]++
		reached, err := s.direct(d.address)
		if err != nil {
			t.Errorf("%s: neither answered nor refused: %v", name, err)
		}
		if want := says == "direct" && !d.byName; reached != want {
			t.Errorf("%s: explain says %s, and a packet is answered: %t", name, says, reached)
		}
		if d.byName && (says != "direct" || !strings.Contains(warnings, "the name example.com,")) {
			t.Errorf("%s: %s, and nothing says that it is cut off: %s", name, says, warnings)
		}
		if d.connect == "" {
			continue
		}
		if status := s.proxied(d.connect); status != "200" || says != "proxy" {
			t.Errorf("%s: explain says %s, the proxy %q", name, says, status)
		}
	}
	if seen["direct"] < 3 || seen["proxy"] < 2 {
		t.Errorf("the table is blind: %v", seen)
	}

	// What is listed by name is reached with its address.
	policy, _ = s.command("render", "-o", "networkpolicy", "--namespace", "shop", "--allow", machine.InternetAddress)
	s.enforce(policy)
	for address, want := range map[string]bool{machine.InternetAddress + ":443": true, machine.HubAddress + ":443": false} {
		if reached, err := s.direct(address); err != nil || reached != want {
			t.Errorf("%s: %t, %v", address, reached, err)
		}
	}
}
