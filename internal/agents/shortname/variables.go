package shortname

import (
	"maps"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/agents/tunnel"
	"github.com/fairlead-io/fairlead/internal/core/proxysecret"
)

// variable is one of a container.
type variable struct {
	name, value string
	source      string // for people, if it comes by envFrom
	unknown     bool   // its value
}

// variables are those of a container with what ConfigMaps among the files put there. Later ones win, as kubelet has it.
func (s Services) variables(namespace string, c tunnel.Container) []variable {
	var all []variable
	set := func(v variable) {
		all = append(slices.DeleteFunc(all, func(o variable) bool { return o.name == v.name }), v)
	}
	for _, from := range c.EnvFrom {
		if from.ConfigMapRef == nil {
			continue
		}
		texts := s.texts[service{namespace, from.ConfigMapRef.Name}]
		for _, key := range slices.Sorted(maps.Keys(texts)) {
			set(variable{name: from.Prefix + key, value: texts[key], source: " of ConfigMap " + from.ConfigMapRef.Name})
		}
	}
	for _, e := range c.Env {
		v := variable{name: e.Name, value: e.Value}
		if from := e.ValueFrom; from != nil {
			v.unknown = true
			if ref := from.ConfigMapKeyRef; ref != nil {
				text, found := s.texts[service{namespace, ref.Name}][ref.Key]
				v.value, v.unknown = text, !found
			}
		}
		set(v)
	}
	return all
}

// own is what a container sets of a proxy itself.
type own struct {
	url   bool    // a proxy's, so that it has one whatever the policy gives it
	keeps bool    // what the policy adds no URL to
	list  *string // instead of the pod's, if it is known
}

// ownOf leaves a list of envFrom out where the policy writes one with the pod's entries over it.
func ownOf(variables []variable, entries bool) own {
	var o own
	for _, v := range variables {
		switch strings.ToUpper(v.name) {
		case "HTTP_PROXY", "HTTPS_PROXY":
			o.url = o.url || v.value != "" || v.unknown
			o.keeps = o.keeps || v.source == ""
		case "ALL_PROXY", proxysecret.ListName:
			o.keeps = o.keeps || v.source == ""
		case "NO_PROXY":
			o.keeps = o.keeps || v.source == "" && !proxysecret.RefersToList(v.value)
			if !v.unknown && (v.source == "" || !entries) {
				o.list = &v.value
			}
		}
	}
	return o
}
