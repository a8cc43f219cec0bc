package tunnel

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead-io/fairlead/internal/core/lint"
)

// norelay is an agent that gets through by a relay alone, where policies/tunnel-relay can add none.
func (j *judge) norelay() {
	v := &j.verdict
	if v.Through == Relay || j.hub.loopback() || j.hub.inside() || !j.takesRelay() {
		return
	}
	if _, there := j.in.Pod.relay(); there {
		return // RelayTarget says what is wrong with that
	}
	why, mend := j.relayless()
	if why == "" {
		return
	}
	j.say(NoRelay, lint.Error, "it takes a relay, and no policy adds one: "+why, mend)
	for i := range v.Findings {
		if v.Findings[i].Mend == installPolicies {
			v.Findings[i].Mend = "what NoRelay says"
		}
	}
}

// takesRelay says whether nothing else would help.
func (j *judge) takesRelay() bool {
	if slices.ContainsFunc(j.verdict.Findings, func(f Finding) bool { return f.Code == ProxyScheme && f.Severity == lint.Error }) {
		return true
	}
	family := j.in.family(j.container)
	if j.verdict.Through == Proxy || family == nil {
		return false
	}
	way := family.Through
	if overTLS := strings.HasPrefix(strings.TrimSpace(j.in.Objects.Secrets["fairlead-proxy"]["HTTPS_PROXY"]), "https://"); overTLS && family.ThroughTLS != "" {
		way = family.ThroughTLS
	}
	return way == "Relay"
}

// relayless is why there can be none, by the rules of policies/tunnel-relay; empty if there can.
func (j *judge) relayless() (why, mend string) {
	const plain = "a proxy by http://"
	spec := j.in.Pod.Spec
	_, given := j.in.Pod.Metadata.Annotations["fairlead.io/relay-targets"]
	if family := j.in.family(j.container); family != nil {
		given = given || len(family.Targets) > 0
	}
	flags := line{words: slices.Concat(j.container.Command, j.container.Args)} // as a policy sees them
	host, named := flags.flag("--proxy-server-host")
	port, _ := flags.flag("--proxy-server-port")
	number, _ := strconv.Atoi(j.hub.port)
	_, address := j.hub.address()
	switch {
	case spec.OS.Name == "windows" || spec.NodeSelector["kubernetes.io/os"] == "windows":
		return "the pod is for Windows, and the relay runs on Linux alone", plain
	case address:
		return fmt.Sprintf("the hub, %s, is an address, and host aliases lead names alone to the relay", j.hub.host), "a name for the hub, or " + plain
	case spec.HostNetwork && number > 0 && number < 1024:
		return fmt.Sprintf("the pod is on the network of its node, where the relay may not listen at port %d, below 1024", number), "another port of the hub, or " + plain
	case j.hub.port == strconv.Itoa(relayHealth):
		return fmt.Sprintf("the relay answers probes at port %d", relayHealth), "another port of the hub"
	case given:
		return "", ""
	case strings.Contains(host+port, "$("):
		return "the hub is in a variable, $(…), and a policy does not see what that becomes", annotate(j.hub)
	case !named:
		return "its arguments do not name the hub with --proxy-server-host, which is where a policy looks", annotate(j.hub)
	}
	return "", ""
}

// relayHealth is the relay's own port.
const relayHealth = 8099

func annotate(h hub) string {
	at := h.String()
	if at == "" {
		at = "host:port of the hub"
	}
	return "the annotation fairlead.io/relay-targets: " + at
}
