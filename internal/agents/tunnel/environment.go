package tunnel

import (
	"fmt"
	"slices"
	"strings"
)

// Objects are the Secrets and ConfigMaps that somebody has given, of the pod's namespace: name to key to value.
type Objects struct {
	Secrets    map[string]map[string]string
	ConfigMaps map[string]map[string]string
}

// variable is one that a container has.
type variable struct {
	value   string
	unknown bool   // it, or a part of it, is not known
	plain   bool   // it stands in the pod
	missing bool   // the object is there, and the key is not
	source  string // for people; empty: the pod
}

// environment is what a container finds, by name.
type environment struct {
	variables map[string]variable
	notGiven  []missingSource // of envFrom
}

// missingSource is one that nobody has given.
type missingSource struct{ source, prefix string }

// readEnvironment does what kubelet does: sources first, then variables in their order, each expanded with those in
// front of it (k8s.io/kubernetes pkg/kubelet/kubelet_pods.go, makeEnvironmentVariables).
func readEnvironment(c Container, objects Objects) environment {
	e := environment{variables: map[string]variable{}}
	for _, from := range c.EnvFrom {
		e.addSource(from, objects)
	}
	for _, v := range c.Env {
		switch {
		case v.ValueFrom == nil:
			e.variables[v.Name] = e.expand(v.Value)
		case v.ValueFrom.SecretKeyRef != nil:
			e.refer(v.Name, "Secret", *v.ValueFrom.SecretKeyRef, objects.Secrets)
		case v.ValueFrom.ConfigMapKeyRef != nil:
			e.refer(v.Name, "ConfigMap", *v.ValueFrom.ConfigMapKeyRef, objects.ConfigMaps)
		default:
			e.variables[v.Name] = variable{unknown: true, source: "a field of the pod"}
		}
	}
	return e
}

func (e *environment) addSource(from EnvSource, objects Objects) {
	add := func(kind string, ref *KeyRef, all map[string]map[string]string) {
		if ref == nil {
			return
		}
		source := kind + " " + ref.Name
		content, given := all[ref.Name]
		if !given {
			e.notGiven = append(e.notGiven, missingSource{source, from.Prefix})
		}
		for key, value := range content {
			e.variables[from.Prefix+key] = variable{value: value, source: source}
		}
	}
	add("ConfigMap", from.ConfigMapRef, objects.ConfigMaps)
	add("Secret", from.SecretRef, objects.Secrets)
}

func (e *environment) refer(name, kind string, ref KeyRef, all map[string]map[string]string) {
	source := fmt.Sprintf("%s %s, key %s", kind, ref.Name, ref.Key)
	content, given := all[ref.Name]
	value, there := content[ref.Key]
	switch {
	case !given:
		e.variables[name] = variable{unknown: true, source: source}
	case there:
		e.variables[name] = variable{value: value, source: source}
	case !ref.Optional:
		e.variables[name] = variable{missing: true, source: source}
	}
}

// expand replaces $(NAME) by a variable, and $$ by $; what is none, or not known, stays as it is.
func (e environment) expand(text string) variable {
	out := variable{plain: true}
	var b strings.Builder
	for text != "" {
		at := strings.IndexByte(text, '$')
		if at < 0 || at+1 == len(text) {
			break
		}
		b.WriteString(text[:at])
		text = text[at:]
		end := strings.IndexByte(text, ')')
		switch {
		case text[1] == '$':
			b.WriteByte('$')
			text = text[2:]
		case text[1] == '(' && end > 0:
			v, found := e.variables[text[2:end]]
			if found && !v.unknown {
				b.WriteString(v.value)
			} else {
				b.WriteString(text[:end+1])
			}
			if found {
				out.unknown = out.unknown || v.unknown
				out.plain = out.plain && v.plain
				if out.source == "" {
					out.source = v.source
				}
			}
			text = text[end+1:]
		default:
			b.WriteByte('$')
			text = text[1:]
		}
	}
	out.value = b.String() + text
	return out
}

// value returns what is known of a variable.
func (e environment) value(name string) string { return e.variables[name].value }

// mayHave says whether a source that nobody has given is likely to set one of these variables, by the rule of the policies:
// its name is about proxies, and its prefix begins a variable's.
func (e environment) mayHave(names ...string) (string, bool) {
	for _, missing := range e.notGiven {
		begins := func(name string) bool { return strings.HasPrefix(name, missing.prefix) }
		if strings.Contains(missing.source, "proxy") && slices.ContainsFunc(names, begins) {
			return missing.source, true
		}
	}
	return "", false
}
