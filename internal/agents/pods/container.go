package pods

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-io/fairlead/internal/agents/password"
	"github.com/fairlead-io/fairlead/internal/core/proxyenv"
	"github.com/fairlead-io/fairlead/internal/core/proxysecret"
)

// container is one of a pod, with what kubelet says of it.
type container struct {
	corev1.Container
	state     corev1.ContainerState
	ephemeral bool
}

// containers are all of a pod: init, sidecars, ordinary, ephemeral.
func containers(pod *corev1.Pod) []container {
	var all []container
	add := func(c corev1.Container, statuses []corev1.ContainerStatus, ephemeral bool) {
		var state corev1.ContainerState
		if i := slices.IndexFunc(statuses, func(s corev1.ContainerStatus) bool { return s.Name == c.Name }); i >= 0 {
			state = statuses[i].State
		}
		all = append(all, container{c, state, ephemeral})
	}
	for _, c := range pod.Spec.InitContainers {
		add(c, pod.Status.InitContainerStatuses, false)
	}
	for _, c := range pod.Spec.Containers {
		add(c, pod.Status.ContainerStatuses, false)
	}
	for _, c := range pod.Spec.EphemeralContainers {
		add(corev1.Container(c.EphemeralContainerCommon), pod.Status.EphemeralContainerStatuses, true)
	}
	return all
}

// over says whether a container will not run again.
func over(pod *corev1.Pod, one container) bool {
	return pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed ||
		one.ephemeral && one.state.Terminated != nil
}

// The groups of variables, each for every spelling of its name in upper and lower case.
var groups = proxyenv.Groups

// listOf is the group of lists. The policy gives its own under another name, too, where one extends it.
const listOf = proxyenv.NoProxy

// extends says whether a variable is a list that refers to that.
func extends(e corev1.EnvVar) bool {
	return strings.ToUpper(e.Name) == listOf && proxysecret.RefersToList(e.Value)
}

// asks says whether all lists of a container do: the policy gives it what it lacks.
func asks(env []corev1.EnvVar) bool {
	return slices.ContainsFunc(env, extends) && !slices.ContainsFunc(env, func(e corev1.EnvVar) bool {
		return e.Name == proxysecret.ListName || strings.ToUpper(e.Name) == listOf && !extends(e)
	})
}

// setting is where the variables of a container come from.
type setting struct {
	ours      []string // names that have the policy's value
	own       []string // names that have another
	sources   []string // of envFrom, which the policy takes to have some
	may       []string // of envFrom, which may have some
	owns      []string // groups that the container has of its own
	mayOwn    []string // groups that those sources may have
	relayed   []string // names that have another value, which names a relay
	asks      bool     // for the policy's list, which it has not got
	refers    bool     // to the Secret fairlead-proxy
	below     bool     // has all of ours from the Secret as a whole, below other sources, which win
	passwords []string // names whose value has a password that is not the policy's, and the fields of the command line that have one
}

func settings(c container, policy *Policy, where place) setting {
	var s setting
	s.refers, s.asks = references(c.Container) != nil, asks(c.Env)
	list := slices.IndexFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == proxysecret.ListName })
	for _, e := range c.Env {
		group, origin := strings.ToUpper(e.Name), e
		if list >= 0 && (e.Name == proxysecret.ListName || extends(e)) {
			group, origin = listOf, c.Env[list]
			origin.Name = listOf
		}
		switch {
		case !slices.Contains(groups, group):
			continue
		case policy.isOurs(origin, where):
			s.ours = append(s.ours, e.Name)
			continue
		case leadsToRelay(e, where.namespace):
			s.relayed = append(s.relayed, e.Name)
		case password.InValue(e.Value):
			s.passwords = append(s.passwords, e.Name)
		}
		if s.asks && group == listOf {
			continue
		}
		s.own = append(s.own, e.Name)
		s.owns = append(s.owns, group)
	}
	if slices.ContainsFunc(c.Command, password.InArgument) {
		s.passwords = append(s.passwords, "command")
	}
	if slices.ContainsFunc(c.Args, password.InArgument) {
		s.passwords = append(s.passwords, "args")
	}
	for _, from := range c.EnvFrom {
		name, groups := source(from)
		switch {
		case from.SecretRef != nil && name == proxysecret.Name && from.Prefix == "":
			s.below, s.may, s.mayOwn = true, nil, nil // the last one wins
		case len(groups) > 0 && policy.leavesAlone(name):
			s.sources = append(s.sources, name)
			s.owns = append(s.owns, groups...)
		case len(groups) > 0:
			s.may = append(s.may, name)
			s.mayOwn = append(s.mayOwn, groups...)
		}
	}
	return s
}

// injected says whether a container has any variable from us.
func (s setting) injected() bool { return len(s.ours) > 0 || s.below }

// keepsAll says whether the policy leaves such a container alone, by the decision table of inject-proxy-env.
func (s setting) keepsAll() bool { return !s.asks && keeps(s.owns) }

// mayKeep says whether it does because of sources that may have what is missing of the container's own.
func (s setting) mayKeep() bool {
	return !s.asks && !keeps(s.owns) && len(s.owns) > 0 && keeps(slices.Concat(s.owns, s.mayOwn))
}

func keeps(owns []string) bool {
	has := func(group string) bool { return slices.Contains(owns, group) }
	return has(proxyenv.NoProxy) || has(proxyenv.All) || has(proxyenv.HTTP) && has(proxyenv.HTTPS)
}

// mixture says whose variables a container may have beside ours.
func (s setting) mixture() string {
	if !s.below || len(s.may) == 0 {
		return ""
	}
	return "has ours below " + join(s.may) + ": a variable that is there wins, one in the other case of letters stays ours"
}

// hasAll says whether a container has all that the policy adds, with whatever values.
func (s setting) hasAll() bool {
	names := slices.Concat(s.ours, s.own)
	missing := func(group string) bool {
		return !slices.Contains(names, group) || !slices.Contains(names, strings.ToLower(group))
	}
	return !slices.ContainsFunc(groups[:3], missing)
}

// source returns the name of a source, and the groups that its prefix allows for.
func source(from corev1.EnvFromSource) (string, []string) {
	var name string
	if from.ConfigMapRef != nil {
		name = from.ConfigMapRef.Name
	}
	if from.SecretRef != nil {
		name += from.SecretRef.Name
	}
	var may []string
	for _, group := range groups {
		if strings.HasPrefix(group, strings.ToUpper(from.Prefix)) {
			may = append(may, group)
		}
	}
	return name, may
}

func join(names []string) string { return strings.Join(names, ", ") }
