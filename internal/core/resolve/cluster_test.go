package resolve_test

import (
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/core/resolve"
)

// network returns the list of a cluster without the entries of the installation and
// the built-in ones.
func network(tb testing.TB, cluster func(*resolve.Cluster)) (string, error) {
	tb.Helper()
	effective, err := resolve.Resolve(example(tb, func(in *resolve.Input) {
		in.Installation.NoProxy = nil
		cluster(&in.Cluster)
	}))
	return strings.TrimSuffix(effective.NoProxy.Any.String(), ",svc,127.0.0.1,localhost"), err
}

func TestTheClusterNetworkIsReadAsClusterAPIWritesIt(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*resolve.Cluster)
		want   string
	}{
		"as it stands":                          {func(*resolve.Cluster) {}, "cluster.local,100.64.0.0/13,100.96.0.0/11,178.170.32.59"},
		"no service domain":                     {func(c *resolve.Cluster) { c.ServiceDomain = "" }, "cluster.local,100.64.0.0/13,100.96.0.0/11,178.170.32.59"},
		"another service domain":                {func(c *resolve.Cluster) { c.ServiceDomain = "k8s.acme" }, "k8s.acme,100.64.0.0/13,100.96.0.0/11,178.170.32.59"},
		"a service domain with a final dot":     {func(c *resolve.Cluster) { c.ServiceDomain = "Cluster.Local." }, "cluster.local,100.64.0.0/13,100.96.0.0/11,178.170.32.59"},
		"no service network, built by kubeadm":  {func(c *resolve.Cluster) { c.ServiceCIDRs = nil }, "cluster.local,10.96.0.0/12,100.96.0.0/11,178.170.32.59"},
		"no service network, built by another":  {func(c *resolve.Cluster) { c.ServiceCIDRs, c.ControlPlaneKind = nil, "K0smotronControlPlane" }, "cluster.local,100.96.0.0/11,178.170.32.59"},
		"no service network, nobody builds it":  {func(c *resolve.Cluster) { c.ServiceCIDRs, c.ControlPlaneKind = nil, "" }, "cluster.local,100.96.0.0/11,178.170.32.59"},
		"no pod network, for which none stands": {func(c *resolve.Cluster) { c.PodCIDRs = nil }, "cluster.local,100.64.0.0/13,178.170.32.59"},
		"dual-stack": {
			func(c *resolve.Cluster) {
				c.ServiceCIDRs, c.PodCIDRs = []string{"10.96.0.0/12", "FD00:10:96::/112"}, []string{"10.244.0.0/16", "fd00:10:244::/56"}
			},
			"cluster.local,10.96.0.0/12,fd00:10:96::/112,10.244.0.0/16,fd00:10:244::/56,178.170.32.59",
		},
		"IPv6 alone": {
			func(c *resolve.Cluster) {
				c.ServiceCIDRs, c.PodCIDRs, c.EndpointHost = []string{"fd00:10:96::/112"}, []string{"fd00:10:244::/56"}, "2001:db8::6443"
			},
			"cluster.local,fd00:10:96::/112,fd00:10:244::/56,2001:db8::6443",
		},
		"a network with host bits":         {func(c *resolve.Cluster) { c.PodCIDRs = []string{"100.96.1.2/11"} }, "cluster.local,100.64.0.0/13,100.96.0.0/11,178.170.32.59"},
		"a network of one address":         {func(c *resolve.Cluster) { c.PodCIDRs = []string{"100.96.1.2/32"} }, "cluster.local,100.64.0.0/13,100.96.1.2,178.170.32.59"},
		"an IPv6 endpoint in brackets":     {func(c *resolve.Cluster) { c.EndpointHost = "[2001:DB8::1]" }, "cluster.local,100.64.0.0/13,100.96.0.0/11,2001:db8::1"},
		"an endpoint by name":              {func(c *resolve.Cluster) { c.EndpointHost = "API.acme.example" }, "cluster.local,100.64.0.0/13,100.96.0.0/11,api.acme.example"},
		"an endpoint with a final dot":     {func(c *resolve.Cluster) { c.EndpointHost = "api.acme.example." }, "cluster.local,100.64.0.0/13,100.96.0.0/11,api.acme.example."},
		"an endpoint outside ASCII":        {func(c *resolve.Cluster) { c.EndpointHost = "bücher.example" }, "cluster.local,100.64.0.0/13,100.96.0.0/11,xn--bcher-kva.example"},
		"the endpoint in the pod network":  {func(c *resolve.Cluster) { c.EndpointHost = "100.96.0.1" }, "cluster.local,100.64.0.0/13,100.96.0.0/11,100.96.0.1"},
		"one network for both":             {func(c *resolve.Cluster) { c.PodCIDRs = c.ServiceCIDRs }, "cluster.local,100.64.0.0/13,178.170.32.59"},
		"an endpoint named like localhost": {func(c *resolve.Cluster) { c.EndpointHost = "localhost" }, "cluster.local,100.64.0.0/13,100.96.0.0/11,localhost,svc,127.0.0.1"},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := network(t, test.change); err != nil || got != test.want {
				t.Errorf("got  %s (%v)\nwant %s", got, err, test.want)
			}
		})
	}
}

func TestAClusterThatSaysSomethingImpossibleIsToldTheField(t *testing.T) {
	const services, pods = "spec.clusterNetwork.services.cidrBlocks", "spec.clusterNetwork.pods.cidrBlocks"
	const domain, endpoint = "spec.clusterNetwork.serviceDomain", "spec.controlPlaneEndpoint.host"
	for name, test := range map[string]struct {
		change func(*resolve.Cluster)
		field  string
	}{
		"a service network too narrow":    {func(c *resolve.Cluster) { c.ServiceCIDRs = []string{"10.0.0.0/33"} }, services + "[0]"},
		"the second service network":      {func(c *resolve.Cluster) { c.ServiceCIDRs = []string{"10.0.0.0/8", ""} }, services + "[1]"},
		"a pod network by name":           {func(c *resolve.Cluster) { c.PodCIDRs = []string{"pods.example"} }, pods + "[0]"},
		"a pod network with a port":       {func(c *resolve.Cluster) { c.PodCIDRs = []string{"10.0.0.0:80"} }, pods + "[0]"},
		"a pod network that is all":       {func(c *resolve.Cluster) { c.PodCIDRs = []string{"*"} }, pods + "[0]"},
		"two networks in one":             {func(c *resolve.Cluster) { c.PodCIDRs = []string{"10.0.0.0/8,fd00::/8"} }, pods + "[0]"},
		"a service domain as a wildcard":  {func(c *resolve.Cluster) { c.ServiceDomain = "*.local" }, domain},
		"a service domain that is all":    {func(c *resolve.Cluster) { c.ServiceDomain = "*" }, domain},
		"a service domain with a port":    {func(c *resolve.Cluster) { c.ServiceDomain = "local:80" }, domain},
		"a service domain that is a CIDR": {func(c *resolve.Cluster) { c.ServiceDomain = "10.0.0.0/8" }, domain},
		"an endpoint with a port":         {func(c *resolve.Cluster) { c.EndpointHost = "10.1.2.3:6443" }, endpoint},
		"an endpoint that is a URL":       {func(c *resolve.Cluster) { c.EndpointHost = "https://me:mySuperSecret@10.1.2.3" }, endpoint},
		"an endpoint with a zone":         {func(c *resolve.Cluster) { c.EndpointHost = "fe80::1%eth0" }, endpoint},
		"an endpoint that is all":         {func(c *resolve.Cluster) { c.EndpointHost = "*" }, endpoint},
		"an endpoint that is a network":   {func(c *resolve.Cluster) { c.EndpointHost = "10.0.0.0/8" }, endpoint},
		"an endpoint of blanks":           {func(c *resolve.Cluster) { c.EndpointHost = " " }, endpoint},
	} {
		t.Run(name, func(t *testing.T) {
			effective, err := resolve.Resolve(example(t, func(in *resolve.Input) { test.change(&in.Cluster) }))
			p := problem(t, effective, err)
			if p.Reason != resolve.ReasonInvalidCluster || p.Object != "Cluster org-acme/mycluster" || p.Field != test.field {
				t.Errorf("%s of %s: %s", p.Reason, p.Object, p)
			}
		})
	}
}

// Who may write a Cluster may not open more with it than with a ProxyOverride.
func TestAClustersOwnNetworkObeysTheDelegation(t *testing.T) {
	const services, pods = "spec.clusterNetwork.services.cidrBlocks", "spec.clusterNetwork.pods.cidrBlocks"
	for name, test := range map[string]struct {
		change func(*resolve.Cluster)
		field  string
		listed string // by the installation, which opens nothing then
	}{
		"everything":                {func(c *resolve.Cluster) { c.PodCIDRs = []string{"10.0.0.0/8", "0.0.0.0/0"} }, pods + "[1]", "0.0.0.0/0"},
		"everything by IPv6":        {func(c *resolve.Cluster) { c.ServiceCIDRs = []string{"::/0"} }, services + "[0]", "::/0"},
		"a large public network":    {func(c *resolve.Cluster) { c.PodCIDRs = []string{"44.0.0.0/9"} }, pods + "[0]", "44.0.0.0/9"},
		"a public service domain":   {func(c *resolve.Cluster) { c.ServiceDomain = "com" }, "spec.clusterNetwork.serviceDomain", "com"},
		"a public endpoint":         {func(c *resolve.Cluster) { c.EndpointHost = "co.uk" }, "spec.controlPlaneEndpoint.host", "co.uk"},
		"private networks, however": {func(c *resolve.Cluster) { c.ServiceCIDRs, c.PodCIDRs = []string{"10.0.0.0/8"}, []string{"fd00::/8"} }, "", ""},
	} {
		for _, grant := range []resolve.Grant{resolve.GrantForbidden, resolve.GrantNarrow, resolve.GrantAny} {
			changed := func(in *resolve.Input) { test.change(&in.Cluster); in.Installation.Delegation.NoProxy = grant }
			effective, err := resolve.Resolve(example(t, changed))
			if test.field == "" || grant == resolve.GrantAny {
				if err != nil {
					t.Errorf("%s, %s: %v", name, grant, err)
				}
				continue
			}
			p := problem(t, effective, err)
			if p.Reason != resolve.ReasonInvalidCluster || p.Object != "Cluster org-acme/mycluster" || p.Field != test.field || !strings.Contains(p.Detail, test.listed+" ") {
				t.Errorf("%s, %s: %s, %s", name, grant, p.Reason, p)
			}
			_, err = resolve.Resolve(example(t, changed, func(in *resolve.Input) { in.Installation.NoProxy = entries(t, test.listed) }))
			if err != nil {
				t.Errorf("%s, %s, and the installation lists it: %v", name, grant, err)
			}
		}
	}
}
