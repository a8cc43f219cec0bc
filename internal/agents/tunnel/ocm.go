package tunnel

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/agents/password"
	"github.com/fairlead-io/fairlead/internal/core/lint"
	"github.com/fairlead-io/fairlead/internal/core/proxyurl"
	"github.com/fairlead-io/fairlead/noproxy"
)

// Configuration is the result for an object by which a hub of Open Cluster Management deploys its agents.
type Configuration struct {
	Object string `json:"object"`
	// AdditionalArgs that spec.proxyAgent should have; of a ManagedProxyConfiguration.
	AdditionalArgs []string  `json:"additionalArgs,omitempty"`
	Findings       []Finding `json:"findings"`
}

func (c *Configuration) say(code Code, severity lint.Severity, why, mend string) {
	c.Findings = append(c.Findings, Finding{Code: code, Severity: severity, Why: why, Mend: mend})
}

// ManagedProxy is a ManagedProxyConfiguration, proxy.open-cluster-management.io/v1alpha1.
type ManagedProxy struct {
	Spec struct {
		ProxyServer struct {
			AdditionalArgs []string `json:"additionalArgs"`
			Entrypoint     *struct {
				Type     string `json:"type"`
				Port     int    `json:"port"`
				Hostname *struct {
					Value string `json:"value"`
				} `json:"hostname"`
			} `json:"entrypoint"`
		} `json:"proxyServer"`
		ProxyAgent struct {
			AdditionalArgs []string `json:"additionalArgs"`
		} `json:"proxyAgent"`
		NetworkPolicies *struct {
			Enabled bool `json:"enabled"`
		} `json:"networkPolicies"`
	} `json:"spec"`
}

// hub returns where agents are told to dial; nothing if the object does not say.
func (m ManagedProxy) hub() hub {
	e := m.Spec.ProxyServer.Entrypoint
	if e == nil || e.Type != "Hostname" || e.Hostname == nil {
		return hub{}
	}
	return hub{e.Hostname.Value, fmt.Sprint(m.port())}
}

func (m ManagedProxy) port() int {
	if e := m.Spec.ProxyServer.Entrypoint; e != nil && e.Port != 0 {
		return e.Port
	}
	return 8091 // of the CRD
}

// Judge says what the object means for agents behind a proxy that cuts silent connections after some seconds.
func (m ManagedProxy) Judge(object string, idleTimeout int) Configuration {
	c := Configuration{Object: object, Findings: []Finding{}, AdditionalArgs: slices.Clone(m.Spec.ProxyAgent.AdditionalArgs)}
	for i, arg := range c.AdditionalArgs {
		if redacted := password.Redacted(arg); redacted != arg {
			c.AdditionalArgs[i] = redacted
			c.say(Password, lint.Error, fmt.Sprintf("spec.proxyAgent.additionalArgs[%d] has a password, which many may read, and so has every pod made of it", i), "")
		}
	}
	m.judgeKeepalive(&c, idleTimeout)
	e := m.Spec.ProxyServer.Entrypoint
	forwards := e != nil && e.Type == "PortForward"
	switch {
	case e == nil:
		c.say(HubUnknown, lint.Info, "spec.proxyServer.entrypoint is not set", "type Hostname")
	case forwards:
		c.say(PortForward, lint.Info, "proxy-agent dials addon-agent, which carries the tunnel to the hub's API server: its proxy decides, and squid has to allow the port of that", "")
	case e.Type == "LoadBalancerService":
		c.say(HubAddress, lint.Warning, "agents get the address of a load balancer: a relay cannot take its place, proxies that allow names refuse it, and networks in NO_PROXY may cover it", "type Hostname")
	}
	if port := m.port(); port != 443 && !forwards {
		c.say(HubPort, lint.Warning, fmt.Sprintf("spec.proxyServer.entrypoint.port %d: squid as it is delivered refuses CONNECT to all ports but 443 (acl SSL_ports)", port), "port 443 in front of the proxy server, or have the proxy allow it")
	}
	if n := m.Spec.NetworkPolicies; n != nil && n.Enabled {
		c.say(NetworkPolicy, lint.Warning, fmt.Sprintf("spec.networkPolicies lets agents out to DNS and the ports 443, 6443 and %d alone: to a proxy on another port, such as 3128, not", m.port()), "a NetworkPolicy with egress to the proxy's address and port")
	}
	lint.Sorted(c.Findings)
	return c
}

// judgeKeepalive: either end keeps the tunnel alive. The agent is where squid is.
func (m ManagedProxy) judgeKeepalive(c *Configuration, idleTimeout int) {
	const flag, mend = "--keepalive-time", "--keepalive-time=30s"
	text, flagOK := line{words: m.Spec.ProxyAgent.AdditionalArgs}.flag(flag)
	beat, ok := parseDuration(text)
	hubText, _ := line{words: m.Spec.ProxyServer.AdditionalArgs}.flag(flag)
	hubBeat, hubOK := parseDuration(hubText)
	switch {
	case flagOK && (!ok || beat < leastKeepalive):
		c.say(Keepalive, lint.Error, fmt.Sprintf("spec.proxyAgent.additionalArgs has %s=%s, and the server takes no less than 30 seconds", flag, text), mend)
	case flagOK && beat < idleTimeout:
		return
	case flagOK:
		c.say(Keepalive, lint.Warning, fmt.Sprintf("spec.proxyAgent.additionalArgs has %s=%s, and a proxy cuts what is idle for %s", flag, text, span(idleTimeout)), mend)
	case hubOK && hubBeat < idleTimeout:
		c.say(Keepalive, lint.Info, fmt.Sprintf("spec.proxyServer.additionalArgs has %s=%s, which keeps tunnels alive from the hub's end", flag, hubText), mend)
	default:
		c.say(Keepalive, lint.Warning, fmt.Sprintf("spec.proxyAgent.additionalArgs lacks %s: agents are silent for 1h, and a proxy cuts what is idle for %s", flag, span(idleTimeout)), mend)
	}
	c.AdditionalArgs = append(withoutFlag(c.AdditionalArgs, flag), mend)
}

// without leaves a flag and its value out, in one element or two.
func withoutFlag(args []string, flag string) []string {
	var kept []string
	for i, arg := range args {
		if arg != flag && !strings.HasPrefix(arg, flag+"=") && (i == 0 || args[i-1] != flag) {
			kept = append(kept, arg)
		}
	}
	return kept
}

// AddOnDeployment is an AddOnDeploymentConfig, addon.open-cluster-management.io/v1alpha1 or v1beta1.
type AddOnDeployment struct {
	Spec struct {
		ProxyConfig struct {
			HTTPProxy  string `json:"httpProxy"`
			HTTPSProxy string `json:"httpsProxy"`
			NoProxy    string `json:"noProxy"`
		} `json:"proxyConfig"`
	} `json:"spec"`
}

// Judge says what the object means for cluster-proxy, whose entrypoint one of the others may name.
func (a AddOnDeployment) Judge(object string, entrypoints []ManagedProxy) Configuration {
	c := Configuration{Object: object, Findings: []Finding{}}
	proxy := a.Spec.ProxyConfig
	for _, field := range []struct{ name, value string }{{"httpProxy", proxy.HTTPProxy}, {"httpsProxy", proxy.HTTPSProxy}} {
		if password.InValue(field.value) {
			c.say(Password, lint.Error, "spec.proxyConfig."+field.name+" has a password, which many may read, and so has every pod made of it", "the URL without it: the policy of the family cluster-proxy gives agents the one of the Secret")
		}
	}
	switch u, err := proxyurl.Parse(proxy.HTTPSProxy); {
	case proxy.HTTPSProxy == "":
		c.say(NoProxy, lint.Error, "spec.proxyConfig.httpsProxy is empty: gRPC reads no other", "http://host:port")
	case err != nil:
		c.say(ProxyURL, lint.Error, "spec.proxyConfig.httpsProxy: "+err.Error(), "http://host:port")
	case u.Scheme() == "https":
		c.say(ProxyScheme, lint.Error, "gRPC does not speak TLS to a proxy: whatever caBundle has, the agent of upstream sends its CONNECT in plain text", "http://, or a relay: throughTLS of the family")
	}
	for _, m := range entrypoints {
		h := m.hub()
		if goes, listed := h.listed(proxy.NoProxy); listed && h.host != "" && proxy.NoProxy != "" {
			c.say(HubListed, lint.Error, fmt.Sprintf("spec.proxyConfig.noProxy covers the entrypoint %s with %q", h, noproxy.Shown(proxy.NoProxy, goes.Entry.Of(proxy.NoProxy))), "take the entry out")
		}
	}
	c.say(ProxyAgentAlone, lint.Info, "for cluster-proxy it reaches the container proxy-agent alone: addon-agent and service-proxy, which dial the hub's API server, get nothing", "the policy of the family cluster-proxy, for all three")
	lint.Sorted(c.Findings)
	return c
}
