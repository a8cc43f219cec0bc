package tunnel

import (
	"path"
	"strings"
)

// file is one that a container finds in a volume.
type file struct {
	content string
	source  string // for people: "ConfigMap frpc, key frpc.toml"
	plain   bool   // all may read it who may read the namespace: a ConfigMap
}

// find returns the file at a path. Not found, but with a source, is one in an object that nobody has given.
func (p Pod) find(c Container, at string, objects Objects) (file, bool) {
	at = path.Clean(at)
	for _, mount := range c.VolumeMounts {
		relative, below := strings.CutPrefix(at, strings.TrimSuffix(path.Clean(mount.MountPath), "/")+"/")
		switch {
		case at == path.Clean(mount.MountPath) && mount.SubPath != "":
			relative = mount.SubPath
		case !below:
			continue
		case mount.SubPath != "":
			relative = path.Join(mount.SubPath, relative)
		}
		for _, volume := range p.Spec.Volumes {
			if volume.Name != mount.Name {
				continue
			}
			return volume.find(relative, objects)
		}
	}
	return file{}, false
}

// find returns the file that a volume has at a path.
func (v Volume) find(at string, objects Objects) (file, bool) {
	var found file
	from := func(kind string, p *Projection, all map[string]map[string]string) bool {
		if p == nil {
			return false
		}
		key, has := p.key(at)
		if !has {
			return false
		}
		found = file{content: all[p.Name][key], source: kind + " " + p.Name + ", key " + key, plain: kind == "ConfigMap"}
		_, there := all[p.Name][key]
		return there
	}
	if v.Secret != nil && from("Secret", &Projection{v.Secret.SecretName, v.Secret.Items}, objects.Secrets) || from("ConfigMap", v.ConfigMap, objects.ConfigMaps) {
		return found, true
	}
	if v.Projected == nil {
		return found, false
	}
	for _, source := range v.Projected.Sources {
		if from("Secret", source.Secret, objects.Secrets) || from("ConfigMap", source.ConfigMap, objects.ConfigMaps) {
			return found, true
		}
	}
	return found, false
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
