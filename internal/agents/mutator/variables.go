package mutator

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"

	"github.com/fairlead-io/fairlead/internal/agents/mutation"
	"github.com/fairlead-io/fairlead/internal/agents/tunnel"
	"github.com/fairlead-io/fairlead/internal/core/proxyenv"
	"github.com/fairlead-io/fairlead/internal/core/proxysecret"
)

// byOrigin returns the added variables that are the cluster's, and a text about the lists that begin with somebody's entries.
func (a agent) byOrigin(names []string) (ours []string, entries string) {
	if !slices.Contains(names, proxysecret.ListName) {
		return names, ""
	}
	var lists []string
	for _, name := range names {
		if proxyenv.IsList(name) {
			lists = append(lists, name)
		} else {
			ours = append(ours, name)
		}
	}
	if len(lists) == 0 {
		return ours, ""
	}
	whose := "pod"
	if slices.ContainsFunc(a.Env, func(e tunnel.EnvVar) bool { return proxyenv.IsList(e.Name) }) {
		whose = "container"
	}
	return ours, fmt.Sprintf("; %s with the %s's entries", strings.Join(lists, ", "), whose)
}

// whyKept says why a container gets no variable.
func (s statement) whyKept(a agent, family *mutation.Tunnel) string {
	if why := whyNoList(a.Env); why != "" && len(family.Reads) == 0 {
		return why
	}
	for _, e := range a.Env {
		switch {
		case ofSecret(e):
			return "refers to the Secret fairlead-proxy already: nothing to do"
		case len(family.Reads) > 0 && !slices.Contains(family.Reads, e.Name), len(family.Reads) == 0 && !isProxyVariable(e.Name):
		case e.ValueFrom != nil:
			return fmt.Sprintf("%s comes by valueFrom, and is kept: no variable is added", e.Name)
		case e.Value != "":
			return fmt.Sprintf("%s has a value, and is kept: no variable is added", e.Name)
		}
	}
	for _, from := range a.EnvFrom {
		kind, name := "Secret", cmp.Or(from.ConfigMapRef, from.SecretRef, &tunnel.KeyRef{}).Name
		if from.ConfigMapRef != nil {
			kind = "ConfigMap"
		}
		if name == proxysecret.Name || s.m.chart.LeavesAlone(name) {
			return fmt.Sprintf("envFrom takes the %s %s, which is kept: no variable is added", kind, name)
		}
	}
	return "nothing to do"
}

func isProxyVariable(name string) bool {
	return slices.Contains(proxyenv.Groups, strings.ToUpper(name))
}

// whyNoList says why a container's lists do not get the cluster's, if they ask for it.
func whyNoList(env []tunnel.EnvVar) string {
	asking, other := "", ""
	for _, e := range env {
		switch {
		case e.Name == proxysecret.ListName && !ofSecret(e):
			return proxysecret.ListName + " is set: no variable is added"
		case !proxyenv.IsList(e.Name):
		case proxysecret.RefersToList(e.Value):
			asking = e.Name
		default:
			other = e.Name
		}
	}
	if asking == "" || other == "" {
		return ""
	}
	return fmt.Sprintf("%s does not have $(%s) in it, as %s has: no variable is added", other, proxysecret.ListName, asking)
}

// ofSecret says whether a variable refers to the Secret fairlead-proxy.
func ofSecret(e tunnel.EnvVar) bool {
	return e.ValueFrom != nil && e.ValueFrom.SecretKeyRef != nil && e.ValueFrom.SecretKeyRef.Name == proxysecret.Name
}

// needs are programs, by the last part of their image, with the first version that does what a policy counts on.
var needs = map[string]struct{ from, does string }{
	"frpc": {"0.9.0", "reads http_proxy"}, // fatedier/frp issue 67
}

// ofVersion says what the tag of an image shows, where it matters.
func (s statement) ofVersion(a agent) {
	name, tag := a.ImageTag()
	need, ok := needs[name]
	if !ok {
		return
	}
	switch found, err := version.ParseGeneric(tag); {
	case err != nil:
		s.warn("container %s: the image's tag is no version: %s %s from %s on", a.Name, name, need.does, need.from)
	case found.LessThan(version.MustParseGeneric(need.from)):
		s.warn("container %s: %s %s cannot work: it %s from %s on", a.Name, name, tag, need.does, need.from)
	}
}
