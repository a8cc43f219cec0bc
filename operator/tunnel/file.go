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
			switch {
			case volume.ConfigMap != nil:
				return content("ConfigMap", volume.ConfigMap.Name, volume.ConfigMap.Items, relative, objects.ConfigMaps)
			case volume.Secret != nil:
				return content("Secret", volume.Secret.SecretName, volume.Secret.Items, relative, objects.Secrets)
			}
		}
	}
	return file{}, false
}

func content(kind, name string, items []KeyPath, relative string, objects map[string]map[string]string) (file, bool) {
	key := relative
	for _, item := range items {
		if item.Path == relative {
			key = item.Key
		}
	}
	text, found := objects[name][key]
	return file{content: text, source: kind + " " + name + ", key " + key, plain: kind == "ConfigMap"}, found
}
