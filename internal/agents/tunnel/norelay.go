package tunnel

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead-io/fairlead/internal/core/lint"
	"github.com/fairlead-io/fairlead/internal/core/proxyenv"
)

// norelay is an agent that gets through by a relay alone, where policies/tunnel-relay or tunnel-sidecar can add none.
func (j *judge) norelay() {
	_, ok := j.in.Pod.relay() // RelayTarget says what is wrong with that
	if ok || j.verdict.Through == Relay || j.hub.loopback() || j.hub.inside() || !j.takesRelay() {
		return
	}
	why, mend := j.relayless()
	if why == "" {
		return
	}
	j.say(NoRelay, lint.Error, "it takes a relay, and no policy adds one: "+why, mend)
	for i, f := range j.verdict.Findings {
		if f.Mend == installPolicies {
			j.verdict.Findings[i].Mend = "what NoRelay says"
		}
	}
}

// takesRelay says whether nothing else would help.
func (j *judge) takesRelay() bool {
	if slices.ContainsFunc(j.verdict.Findings, func(f Finding) bool { return f.Code == ProxyScheme && f.Severity == lint.Error }) {
		return true
	}
	if j.verdict.Through == Proxy || j.family == nil {
		return false
	}
	way := j.way()
	return way == "Relay" || way == "Sidecar"
}

// way returns how agents of the family get through the proxy of the given settings.
func (j *judge) way() string {
	switch secret := strings.TrimSpace(j.in.Objects.Secrets["fairlead-proxy"][proxyenv.HTTPS]); {
	case j.family == nil:
		return ""
	case strings.HasPrefix(secret, "https://"), strings.HasPrefix(j.verdict.Proxy, "https://"):
		return cmp.Or(j.family.ThroughTLS, j.family.Through)
	}
	return j.family.Through
}

const plainProxy = "a proxy by http://"

// relayless returns why there can be none, by the rules of the policies, which a test evaluates; empty if there can.
func (j *judge) relayless() (why, mend string) {
	if why, mend := j.in.Pod.Roomless(); why != "" {
		return why, mend
	}
	number, _ := strconv.Atoi(j.hub.port)
	_, address := j.hub.address()
	alias, aliased := j.in.Pod.Alias(j.hub.host)
	switch {
	case j.way() == "Sidecar":
		return j.decided()
	case address:
		return fmt.Sprintf("the hub, %s, is an address, and host aliases lead names alone to the relay", j.hub.host), "a name for the hub, or " + plainProxy
	case j.in.Pod.Spec.HostNetwork && number > 0 && number < 1024:
		return fmt.Sprintf("the pod is on the network of its node, where the relay may not listen at port %d, below 1024", number), "another port of the hub, or " + plainProxy
	case j.hub.port == strconv.Itoa(relayHealth):
		return fmt.Sprintf("the relay answers probes at port %d", relayHealth), "another port of the hub"
	case aliased && alias != "127.0.0.1":
		return fmt.Sprintf("hostAliases point %s to %s, and are kept", j.hub.host, alias), "take the alias out"
	}
	return j.targetless()
}

// decided returns why an agent is not told of a sidecar: it has a proxy of its own, or its flag has no place.
func (j *judge) decided() (why, mend string) {
	if flag := j.family.Flag; len(flag) == 2 {
		switch {
		case j.container.Has(flag[0]) || j.container.Has(strings.TrimPrefix(flag[0], "-")):
			return "it has " + flag[0] + " of its own, which is kept", "take it out"
		case !slices.Contains(j.container.written().words, flag[1]):
			return "no word of its arguments is " + flag[1] + ", behind which " + flag[0] + " stands", "write the arguments into the pod"
		}
		return "", ""
	}
	for _, e := range j.container.Env {
		if slices.Contains(j.family.Reads, e.Name) && j.owns(e) {
			return e.Name + " has a value of its own, which is kept", "take it out"
		}
	}
	for _, from := range j.container.EnvFrom {
		source := cmp.Or(from.ConfigMapRef, from.SecretRef, &KeyRef{}).Name
		begins := func(name string) bool { return strings.HasPrefix(name, from.Prefix) }
		if (from.SecretRef == nil || source != "fairlead-proxy") && strings.Contains(source, "proxy") && slices.ContainsFunc(j.family.Reads, begins) {
			return "its variables come from " + source + ", which is kept", "take it out"
		}
	}
	return "", ""
}

var bareURL = regexp.MustCompile(`^https?://[^@]*$`)

// owns says that a variable has a value that the policy does not replace.
func (j *judge) owns(e EnvVar) bool {
	if e.ValueFrom != nil {
		return e.ValueFrom.SecretKeyRef == nil || e.ValueFrom.SecretKeyRef.Name != "fairlead-proxy"
	}
	return e.Value != "" && (!j.family.ReplacesBareURLs || !bareURL.MatchString(e.Value))
}

// relayable are the targets that the relay can have, in small letters: names outside the cluster, with a port.
var relayable = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)+:[1-9][0-9]{0,4}$`)

// targetless returns why nothing names a target for the relay; empty if something does.
func (j *judge) targetless() (why, mend string) {
	host, named := j.container.Flag("--proxy-server-host") // as a policy sees them, with no variable expanded
	port, _ := j.container.Flag("--proxy-server-port")
	targets := j.givenTargets()
	given := len(targets) > 0
	if named {
		targets = append(targets, strings.ToLower(host)+":"+cmp.Or(port, "8091"))
	}
	slices.Sort(targets)
	var ports []string
	for _, target := range slices.Compact(targets) {
		_, port, _ := strings.Cut(target, ":")
		switch {
		case !j.canRelay(target):
			continue
		case slices.Contains(ports, port):
			return "the relay listens once on a port, and two targets have the port " + port, "another port of one of them"
		}
		ports = append(ports, port)
	}
	switch {
	case slices.Contains(ports, strconv.Itoa(relayHealth)):
		return fmt.Sprintf("the relay answers probes at port %d", relayHealth), "another port of the target"
	case named && j.hub.host != "" && !j.canRelay(strings.ToLower(j.hub.String())):
		return fmt.Sprintf("the hub, %s, is no name and port that can be relayed", j.hub), "a name for the hub"
	case len(ports) > 0:
		return "", ""
	case given:
		return "the annotation fairlead.io/relay-targets names nothing that can be relayed: host:port, the host a name", annotate(j.hub)
	case strings.Contains(host+port, "$("):
		return "the hub is in a variable, $(…), and a policy does not see what that becomes", annotate(j.hub)
	case !named:
		return "its arguments do not name the hub with --proxy-server-host, which is where a policy looks", annotate(j.hub)
	}
	return "", ""
}

// givenTargets returns the targets of the annotation and of the family.
func (j *judge) givenTargets() []string {
	var all []string
	if j.family != nil {
		all = slices.Clone(j.family.Targets)
	}
	for target := range strings.SplitSeq(j.in.Pod.Metadata.Annotations["fairlead.io/relay-targets"], ",") {
		if target = strings.ToLower(strings.TrimSpace(target)); target != "" {
			all = append(all, target)
		}
	}
	return all
}

func (j *judge) canRelay(target string) bool {
	name, port, _ := strings.Cut(target, ":")
	number, _ := strconv.Atoi(port)
	alias, aliased := j.in.Pod.Alias(name)
	return relayable.MatchString(target) && strings.Trim(name, "0123456789.") != "" && !(hub{host: name}).inside() && number < 1<<16 &&
		(number >= 1024 || !j.in.Pod.Spec.HostNetwork) && (!aliased || alias == "127.0.0.1")
}

// relayHealth is the relay's own port.
const relayHealth = 8099

func annotate(h hub) string {
	return "the annotation fairlead.io/relay-targets: " + cmp.Or(h.String(), "host:port of the hub")
}
