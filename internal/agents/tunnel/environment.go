package tunnel

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
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
	missing bool   // the object is there, and the key is not
	source  string // for people; empty: the pod
}

// environment has the variables of a container.
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
		e.add(from.Prefix, "ConfigMap", from.ConfigMapRef, objects.ConfigMaps)
		e.add(from.Prefix, "Secret", from.SecretRef, objects.Secrets)
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

func (e *environment) add(prefix, kind string, ref *KeyRef, all map[string]map[string]string) {
	if ref == nil {
		return
	}
	source := kind + " " + ref.Name
	content, ok := all[ref.Name]
	if !ok {
		e.notGiven = append(e.notGiven, missingSource{source, prefix})
	}
	for key, value := range content {
		e.variables[prefix+key] = variable{value: value, source: source}
	}
}

func (e *environment) refer(name, kind string, ref KeyRef, all map[string]map[string]string) {
	content, objectOK := all[ref.Name]
	value, keyOK := content[ref.Key]
	if !objectOK || keyOK || !ref.Optional {
		source := fmt.Sprintf("%s %s, key %s", kind, ref.Name, ref.Key)
		e.variables[name] = variable{value: value, unknown: !objectOK, missing: objectOK && !keyOK, source: source}
	}
}

var reference = regexp.MustCompile(`\$\$|\$\([^)]*\)`)

// expand replaces $(NAME) by the variable's value, and $$ by $. An unknown reference stays as it is.
func (e environment) expand(text string) variable {
	var all variable
	all.value = reference.ReplaceAllStringFunc(text, func(match string) string {
		if match == "$$" {
			return "$"
		}
		v, ok := e.variables[match[2:len(match)-1]]
		all.unknown = all.unknown || v.unknown
		all.source = cmp.Or(all.source, v.source)
		if !ok || v.unknown {
			return match
		}
		return v.value
	})
	return all
}

// mayHave says whether a source that nobody has given is likely to set one of these variables, by the rule of the policies:
// its name is about proxies, and its prefix begins a variable's.
func (e environment) mayHave(names []string) (string, bool) {
	for _, missing := range e.notGiven {
		begins := func(name string) bool { return strings.HasPrefix(name, missing.prefix) }
		if strings.Contains(missing.source, "proxy") && slices.ContainsFunc(names, begins) {
			return missing.source, true
		}
	}
	return "", false
}

// file is one that a container finds in a volume.
type file struct {
	content string
	source  string // for people: "ConfigMap frpc, key frpc.toml"
	plain   bool   // all may read it who may read the namespace: a ConfigMap
}

// find returns the file at a path. Not found, but with a source, is one in an object that nobody has given.
func (in Input) find(c Container, at string) (file, bool) {
	at = path.Clean(at)
	for _, mount := range c.VolumeMounts {
		folder := path.Clean(mount.MountPath)
		relative, below := strings.CutPrefix(at, strings.TrimSuffix(folder, "/")+"/")
		switch {
		case at == folder && mount.SubPath != "":
			relative = mount.SubPath
		case !below:
			continue
		case mount.SubPath != "":
			relative = path.Join(mount.SubPath, relative)
		}
		if i := slices.IndexFunc(in.Pod.Spec.Volumes, func(v Volume) bool { return v.Name == mount.Name }); i >= 0 {
			return in.Pod.Spec.Volumes[i].find(relative, in.Objects)
		}
	}
	return file{}, false
}

// find returns the file that a volume has at a path.
func (v Volume) find(at string, objects Objects) (found file, ok bool) {
	from := func(kind string, p *Projection, all map[string]map[string]string) {
		if p == nil || ok {
			return
		}
		if key, keyOK := p.key(at); keyOK {
			found = file{source: kind + " " + p.Name + ", key " + key, plain: kind == "ConfigMap"}
			found.content, ok = all[p.Name][key]
		}
	}
	if v.Secret != nil {
		from("Secret", &Projection{v.Secret.SecretName, v.Secret.Items}, objects.Secrets)
	}
	for _, source := range append([]Source{{ConfigMap: v.ConfigMap}}, v.Projected.Sources...) {
		from("Secret", source.Secret, objects.Secrets)
		from("ConfigMap", source.ConfigMap, objects.ConfigMaps)
	}
	return found, ok
}

// key returns which one is at a path.
func (p Projection) key(at string) (string, bool) {
	for _, item := range p.Items {
		if item.Path == at {
			return item.Key, true
		}
	}
	return at, len(p.Items) == 0
}
