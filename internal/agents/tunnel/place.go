package tunnel

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/core/lint"
	"github.com/fairlead-io/fairlead/internal/core/proxyurl"
)

// RelayName is the container that policies/tunnel-relay adds.
const RelayName = "fairlead-relay"

// place judges where the hub is, for a tunnel that leaves through the proxy, or is to.
func (j *judge) place() {
	j.aliases()
	j.norelay()
	if j.hub.loopback() && j.verdict.Through != Proxy {
		j.say(HubInside, lint.Info, "the hub is on the loopback interface: another container carries the tunnel on, and the proxy matters there", "")
		return
	}
	past := slices.ContainsFunc(j.verdict.Findings, func(f Finding) bool { return f.Code == HubListed || f.Code == HubInside })
	if j.verdict.Through != Direct || !past { // what the proxy answers matters to nobody there
		j.probed()
	}
	if j.hub.host == "" || j.verdict.Through == Direct && (past || j.hub.inside()) {
		return
	}
	if _, ok := j.hub.address(); ok {
		j.say(HubAddress, lint.Warning, "the hub is an address, not a name: a relay cannot take its place, proxies that allow names refuse it, and networks in NO_PROXY may cover it", "a name that the proxy can resolve")
	}
	if j.hub.port != "" && j.hub.port != "443" {
		j.say(HubPort, lint.Warning, fmt.Sprintf("squid as it is delivered refuses CONNECT to port %s, as to all but 443 (acl SSL_ports)", j.hub.port), "have the proxy allow it, or the hub listen on 443")
	}
}

func (p Pod) relay() (Container, bool) {
	for _, c := range p.Containers() {
		if c.Name == RelayName {
			return c, true
		}
	}
	return Container{}, false
}

// targets of a relay: host:port.
func (c Container) targets() []string { return c.written().values("--target") }

// forwards says whether a relay is a forward proxy at an address.
func (c Container) forwards(at string) bool {
	return slices.Contains(c.written().values("--listen"), at)
}

// relayed takes a tunnel that uses no proxy itself, if what dials the hub reaches a relay, and the relay the hub.
func (j *judge) relayed() bool {
	relay, _ := j.in.Pod.relay()
	ip, _ := j.in.Pod.Alias(j.hub.host)
	if !(hub{host: ip}).loopback() || !slices.Contains(relay.targets(), j.hub.String()) {
		return false
	}
	j.byRelay(relay, RelayName+" --target="+j.hub.String(), j.relayListed)
	return true
}

// byRelay judges what a relay reads. Past says that it dials the hub itself.
func (j *judge) byRelay(relay Container, setting string, past func(relay Container, folder string) bool) {
	j.verdict.Through, j.verdict.Setting = Relay, setting
	folder, ok := relay.Flag("--proxy")
	if !ok {
		j.fails(NoProxy, RelayName+" has no --proxy", "--proxy=/run/fairlead-proxy, where the Secret fairlead-proxy is")
		return
	}
	f, ok := j.in.find(relay, folder+"/HTTPS_PROXY")
	u, err := proxyurl.Parse(f.content)
	switch {
	case f.source == "":
		j.fails(NoProxy, RelayName+" has no Secret at "+folder, "mount the Secret fairlead-proxy there")
	case !ok:
		j.say(NotGiven, lint.Info, "the proxy of the relay cannot be told: "+f.source+" is not given", giveSettings)
	case strings.TrimSpace(f.content) == "":
		j.fails(EmptyValue, "the relay has no proxy: "+f.source+" is empty", "")
	case err != nil:
		j.fails(ProxyURL, f.source+": "+err.Error(), "http://user:password@host:port")
	default:
		j.verdict.Proxy = u.WithoutCredentials().String()
		if !past(relay, folder) {
			j.network(u)
		}
	}
}

// relayListed returns a hub that the relay dials past the proxy: it reads NO_PROXY as Go does.
func (j *judge) relayListed(relay Container, folder string) bool {
	f, _ := j.in.find(relay, folder+"/NO_PROXY")
	list := strings.TrimSpace(f.content)
	goes, listed := j.hub.listed(list)
	if list == "" || !listed {
		return false
	}
	j.verdict.Through, j.verdict.Setting = Direct, "NO_PROXY, of "+f.source
	j.say(HubListed, lint.Error, fmt.Sprintf("NO_PROXY covers the hub with %q (%s), and the relay honours it: it dials the hub itself", goes.Entry.Of(list), goes.Reason),
		"take the entry out, or leave it if the hub is to be reached past the proxy")
	return true
}

// aliases judges hostAliases that name the hub, and a relay that is there for nothing.
func (j *judge) aliases() {
	if j.hub.host == "" || j.verdict.Through == Relay {
		return
	}
	relay, _ := j.in.Pod.relay()
	listens := len(relay.targets()) > 0
	ip, aliased := j.in.Pod.Alias(j.hub.host)
	local := aliased && hub{host: ip}.loopback()
	severity := lint.Error
	if j.verdict.Through == Proxy {
		severity = lint.Info // the proxy gets the name
	}
	switch {
	case listens && !slices.Contains(relay.targets(), j.hub.String()):
		j.say(RelayTarget, severity, fmt.Sprintf("the relay is for %s, and the agent dials %s", list(relay.targets()), j.hub), "--target="+j.hub.String())
	case listens && !local && j.verdict.Through != Proxy:
		j.say(RelayTarget, severity, "hostAliases do not lead "+j.hub.host+" to the relay", "ip 127.0.0.1 for it")
	case local && !listens:
		j.say(HubAliased, severity, "hostAliases lead "+j.hub.host+" to the pod itself, and there is no "+RelayName, "take the alias out, or let the relay's policy act: it adds both")
	case aliased && !local && j.verdict.Through == Proxy:
		j.say(HubAliased, lint.Info, "hostAliases give "+j.hub.host+" an address, which a proxy does not see: it gets the name", "")
	case aliased && !local:
		j.say(HubAliased, lint.Info, "hostAliases give "+j.hub.host+" the address "+ip+": the relay's policy leaves it alone", "")
	}
}

func list(texts []string) string {
	if len(texts) == 0 {
		return "nothing"
	}
	return strings.Join(texts, ", ")
}

// policy says whether the policies would help, where help is needed.
func (j *judge) policy() {
	through := j.verdict.Through
	if j.family != nil || through == Relay || j.program.way != byEnvironment && j.program.way != byHTTPProxy {
		return
	}
	severity := lint.Warning
	if through == Proxy {
		severity = lint.Info
	}
	j.say(NoPolicy, severity, "no policy is for it: no family of tunnels.families has labels of the pod and the container's name",
		"add its labels and the container "+j.container.Name+" to a family")
}
