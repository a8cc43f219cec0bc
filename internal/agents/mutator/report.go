package mutator

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/internal/agents/mutation"
	"github.com/fairlead-io/fairlead/internal/agents/tunnel"
	"github.com/fairlead-io/fairlead/internal/core/proxysecret"
	"github.com/fairlead-io/fairlead/internal/core/selection"
)

// agent is a container that a policy is for.
type agent struct {
	tunnel.Container
	path string // in the pod
}

// agents returns the containers with these names, all without any.
func agents(pod tunnel.Pod, names []string) []agent {
	var found []agent
	for list, containers := range map[string][]tunnel.Container{"containers": pod.Spec.Containers, "initContainers": pod.Spec.InitContainers} {
		for i, c := range containers {
			if len(names) == 0 || slices.Contains(names, c.Name) {
				found = append(found, agent{c, fmt.Sprintf("/spec/%s/%d", list, i)})
			}
		}
	}
	slices.SortFunc(found, func(a, b agent) int { return strings.Compare(a.path, b.path) })
	return found
}

// statement is about one policy and one workload.
type statement struct {
	m          *Mutator
	about      string
	pod        tunnel.Pod
	operations []mutation.Operation
}

func (s statement) say(format string, arguments ...any) {
	fmt.Fprintf(s.m.opts.Report, s.about+": "+format+"\n", arguments...)
}

func (s statement) warn(format string, arguments ...any) {
	fmt.Fprintf(s.m.opts.Report, "warning: "+s.about+": "+format+"\n", arguments...)
}

// say states what a policy does to a pod, what not, and why: of the families that the pod is of, one by one.
func (m *Mutator) say(name string, policy *mutation.Policy, object *unstructured.Unstructured, operations []mutation.Operation) {
	pod, _ := tunnel.Read[tunnel.Pod](object.Object) // it was made of a corev1.Pod
	if len(policy.Tunnels) == 0 {
		statement{m, name + ": " + policy.Name, pod, operations}.family(&mutation.Tunnel{Through: mutation.ThroughEnvironment})
	}
	first := map[string]string{} // by container
	for _, family := range policy.Tunnels {
		if selection.Lacking(family.Labels, pod.Metadata.Labels) != "" {
			continue
		}
		s := statement{m, name + ": " + family.PolicyName(), pod, operations}
		found := agents(pod, family.Containers)
		var own []string
		for _, a := range found {
			if other := first[a.Name]; other != "" {
				s.warn("container %s: %s comes first, and alone counts", a.Name, other)
			} else {
				first[a.Name], own = family.PolicyName(), append(own, a.Name)
			}
		}
		if len(own) > 0 {
			family.Containers = own
		}
		if len(own) > 0 || len(found) == 0 {
			s.family(&family)
		}
	}
}

func (s statement) family(family *mutation.Tunnel) {
	m := s.m
	found := agents(s.pod, family.Containers)
	switch {
	case s.pod.Metadata.Annotations[selection.Key] == selection.Exclude:
		s.say("the annotation %s excludes it", selection.Key)
		return
	case len(found) == 0:
		s.warn("no container is named %s: nothing is changed", strings.Join(family.Containers, " or "))
		return
	}
	m.agents++
	if m.tlsUnknown && family.ThroughTLS != "" && family.ThroughTLS != family.Through {
		fmt.Fprintln(m.opts.Report, "the proxy is taken to be an http:// one: neither --values nor --proxy says more")
		m.tlsUnknown = false // said once
	}
	switch family.Through {
	case mutation.ThroughRelay:
		s.relay(found)
	case mutation.ThroughSidecar:
		s.sidecar(found, family)
	default:
		s.environment(found, family)
	}
	s.arguments(found, family)
}

// added returns the values that operations put below a path, or there as a list.
func (s statement) added(path string) []any {
	var values []any
	for _, operation := range s.operations {
		if list, ok := operation.Value.([]any); ok && operation.Path == path {
			values = append(values, list...)
		} else if strings.HasPrefix(operation.Path, path+"/") && operation.Value != nil {
			values = append(values, operation.Value)
		}
	}
	return values
}

// addedNames returns the names of the variables that operations add below a path.
func (s statement) addedNames(path string) []string {
	var names []string
	for _, value := range s.added(path) {
		if _, ok := value.(map[string]any); ok {
			names = append(names, nameOf(value))
		}
	}
	return names
}

func (s statement) environment(found []agent, family *mutation.Tunnel) {
	source := map[string]string{
		mutation.CarrySecretRef: "from the Secret fairlead-proxy",
		mutation.CarryLiteral:   "with their values, password included",
		mutation.CarryRelay:     "with the address of the Service fairlead-relay",
	}[s.m.chart.Carry]
	for _, a := range found {
		names := s.addedNames(a.path + "/env")
		switch {
		case len(s.added(a.path+"/envFrom")) > 0: // env hides keys of the Secret, and has a list that extends ours
			lists := slices.DeleteFunc(names, func(name string) bool { return name != proxysecret.ListName && !isProxyVariable(name) })
			ours, entries := a.byOrigin(lists)
			s.say("container %s: %s%s", a.Name, strings.Join(append([]string{"the Secret fairlead-proxy, by an envFrom below its own"}, ours...), ", "), entries)
		case len(names) > 0:
			ours, entries := a.byOrigin(names)
			s.say("container %s: %s %s%s", a.Name, strings.Join(ours, ", "), source, entries)
		default:
			s.say("container %s: %s", a.Name, s.whyKept(a, family))
			continue
		}
		s.ofVersion(a)
	}
}

const hostFlag = "--proxy-server-host"

// arguments says which were added, and why others could not be.
func (s statement) arguments(found []agent, family *mutation.Tunnel) {
	for _, a := range found {
		added := s.added(a.path + "/args")
		for _, argument := range added {
			s.say("container %s: %v", a.Name, argument)
		}
		for _, argument := range family.Arguments {
			if len(added) == 0 && a.Hides(hostFlag) && !a.Has(hostFlag) && !a.Hides(argument[0]) {
				s.warn("container %s: its command line is a text for a shell: add %s=%s there", a.Name, argument[0], argument[1])
			}
		}
	}
	if len(family.Arguments) > 0 && !slices.ContainsFunc(found, func(a agent) bool { return a.Has(hostFlag) || a.Hides(hostFlag) }) {
		s.warn("no container has %s in its command line: %s is not added", hostFlag, family.Arguments[0][0])
	}
}

// relay says where the relay leads, or why there is none.
func (s statement) relay(found []agent) {
	switch targets := strings.Join(s.relayAdded("--target="), ", "); {
	case targets != "":
		s.say("sidecar fairlead-relay to %s; its name leads there, and no proxy is in the containers", targets)
		if s.pod.Spec.HostNetwork {
			s.warn("hostNetwork: the ports of %s and 8099 must be free on the node", targets)
		}
	case s.hasRelay():
		s.say("fairlead-relay is there: nothing to do")
	default:
		s.warn("no fairlead-relay is added: %s", s.whyNoTarget(found))
	}
}

// relayAdded returns the values of a flag of the relay that is added.
func (s statement) relayAdded(flag string) []string {
	var values []string
	for _, operation := range s.operations {
		added, _ := operation.Value.(map[string]any)
		if added["name"] != "fairlead-relay" {
			continue
		}
		arguments, _ := added["args"].([]any)
		for _, argument := range arguments {
			if value, ok := strings.CutPrefix(fmt.Sprint(argument), flag); ok {
				values = append(values, value)
			}
		}
	}
	return values
}

func (s statement) hasRelay() bool {
	return slices.ContainsFunc(s.pod.Spec.InitContainers, func(c tunnel.Container) bool { return c.Name == tunnel.RelayName })
}

// sidecar says what the agents are told of their own proxy, or why there is none.
func (s statement) sidecar(found []agent, family *mutation.Tunnel) {
	at := strings.Join(s.relayAdded("--listen="), ", ")
	why, _ := s.pod.Roomless()
	switch {
	case at != "":
		s.say("sidecar fairlead-relay at %s, a proxy without a password", at)
		if s.pod.Spec.HostNetwork {
			s.warn("hostNetwork: %s and %s must be free on the node", at, strings.Join(s.relayAdded("--health-address="), ", "))
		}
	case s.hasRelay():
		s.say("fairlead-relay is there: nothing to do")
		return
	case why != "":
		s.warn("no fairlead-relay is added: %s", why)
		return
	}
	for _, a := range found {
		if names := s.addedNames(a.path + "/env"); len(names) > 0 {
			s.say("container %s: %s, for the sidecar", a.Name, strings.Join(names, ", "))
		} else if len(family.Flag) == 2 {
			s.warn("container %s: %s", a.Name, whyNoFlag(a, family.Flag))
		} else {
			s.say("container %s: %s", a.Name, s.whyKept(a, family))
		}
	}
}

func whyNoFlag(a agent, flag []string) string {
	if a.Has(flag[0]) || a.Has(strings.TrimPrefix(flag[0], "-")) {
		return fmt.Sprintf("it has %s, which is kept", flag[0])
	}
	return fmt.Sprintf("no word of its command line is %s: %s is not added", flag[1], flag[0])
}

// Names of the cluster's own, and addresses, as the policy tells them.
var (
	inCluster = regexp.MustCompile(`^([^.]+|proxy-entrypoint[.][^.]+|.+[.]svc([.]cluster[.]local)?)$`)
	address   = regexp.MustCompile(`^[0-9.]+$|:`)
)

func (s statement) whyNoTarget(found []agent) string {
	const instead = "name the target in the annotation fairlead.io/relay-targets: host:port"
	if why, _ := s.pod.Roomless(); why != "" {
		return why
	}
	if s.pod.Metadata.Annotations["fairlead.io/relay-targets"] != "" {
		return "the annotation fairlead.io/relay-targets names nothing that can be relayed: host:port, the host a name"
	}
	for _, a := range found {
		host, named := a.Flag(hostFlag)
		port, _ := a.Flag("--proxy-server-port")
		flag := hostFlag + " of container " + a.Name
		switch {
		case !named && a.Hides(hostFlag):
			return fmt.Sprintf("the command line of container %s is a text for a shell; %s", a.Name, instead)
		case !named:
			continue
		case strings.Contains(host, "$("):
			return fmt.Sprintf("%s is %s, which stands elsewhere; %s", flag, host, instead)
		case strings.Contains(port, "$("):
			return fmt.Sprintf("--proxy-server-port of container %s is %s, which stands elsewhere; %s", a.Name, port, instead)
		case address.MatchString(host):
			return fmt.Sprintf("%s is an address, %s, which nothing can point elsewhere: the hub needs a name", flag, host)
		case inCluster.MatchString(host):
			return fmt.Sprintf("%s is %s, which is inside the cluster", flag, host)
		}
		if ip, ok := s.pod.Alias(host); ok && ip != "127.0.0.1" {
			return fmt.Sprintf("hostAliases point %s to %s, and are kept", host, ip)
		}
		if s.pod.Spec.HostNetwork {
			return "on the host's network it cannot listen on a port below 1024"
		}
		return fmt.Sprintf("%s is %s, which is no name and port that can be relayed", flag, host)
	}
	return "no command line names the hub; " + instead
}

// sayMissed tells of a workload that no policy is for, and that looks like an agent.
func (m *Mutator) sayMissed(name string, template map[string]any, labels map[string]string, namespace *corev1.Namespace) {
	if labels[selection.Key] == selection.Exclude {
		return
	}
	excluded := func(policy string) {
		fmt.Fprintf(m.opts.Report, "warning: %s: %s: namespace %s is excluded: nothing is changed\n", name, policy, namespace.Name)
	}
	containers, _, _ := unstructured.NestedSlice(template, "spec", "containers")
	like, missing := "", []string{}
	for _, policy := range m.policies {
		matches := policy.Matches(labels, nil)
		if matches && len(policy.Tunnels) == 0 {
			excluded(policy.Name)
			return
		}
		for _, family := range policy.Tunnels {
			lacking := selection.Lacking(family.Labels, labels)
			switch at := slices.IndexFunc(containers, func(c any) bool { return slices.Contains(family.Containers, nameOf(c)) }); {
			case matches && lacking == "":
				excluded(family.PolicyName())
				return
			case at >= 0 && lacking == "": // another label excludes them
				return
			case at >= 0:
				like, missing = nameOf(containers[at]), append(missing, lacking)
			}
		}
	}
	if like != "" {
		fmt.Fprintf(m.opts.Report, "warning: %s: container %s is named like an agent, but the pods lack the label %s: nothing is changed\n",
			name, like, strings.Join(missing, ", or "))
	}
}

func nameOf(container any) string {
	c, _ := container.(map[string]any)
	name, _ := c["name"].(string)
	return name
}
