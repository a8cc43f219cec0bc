package tunnel

import (
	"path"
	"slices"
	"strings"
)

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
func (v Volume) find(at string, objects Objects) (found file, there bool) {
	from := func(kind string, p *Projection, all map[string]map[string]string) {
		if p == nil || there {
			return
		}
		if key, has := p.key(at); has {
			found = file{source: kind + " " + p.Name + ", key " + key, plain: kind == "ConfigMap"}
			found.content, there = all[p.Name][key]
		}
	}
	if v.Secret != nil {
		from("Secret", &Projection{v.Secret.SecretName, v.Secret.Items}, objects.Secrets)
	}
	for _, source := range append([]Source{{ConfigMap: v.ConfigMap}}, v.Projected.Sources...) {
		from("Secret", source.Secret, objects.Secrets)
		from("ConfigMap", source.ConfigMap, objects.ConfigMaps)
	}
	return found, there
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
