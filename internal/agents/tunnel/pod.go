package tunnel

import "slices"

// Pod has the fields of a pod, or of the template of a workload, that matter here.
type Pod struct {
	Metadata Metadata `json:"metadata"`
	Spec     struct {
		InitContainers []Container `json:"initContainers"`
		Containers     []Container `json:"containers"`
		HostAliases    []struct {
			IP        string   `json:"ip"`
			Hostnames []string `json:"hostnames"`
		} `json:"hostAliases"`
		HostNetwork bool     `json:"hostNetwork"`
		Volumes     []Volume `json:"volumes"`
		OS          struct {
			Name string `json:"name"`
		} `json:"os"`
		NodeSelector map[string]string `json:"nodeSelector"`
	} `json:"spec"`
}

// Containers returns the containers of a pod, in the order in which they start.
func (p Pod) Containers() []Container { return slices.Concat(p.Spec.InitContainers, p.Spec.Containers) }

// Alias returns the address that hostAliases give a name.
func (p Pod) Alias(name string) (ip string, ok bool) {
	for _, alias := range p.Spec.HostAliases {
		if slices.Contains(alias.Hostnames, name) {
			return alias.IP, true
		}
	}
	return "", false
}

// Roomless returns why no policy adds a relay to the pod, whatever its agents are, and what would mend it; empty if one can.
func (p Pod) Roomless() (why, mend string) {
	switch {
	case p.Spec.OS.Name == "windows" || p.Spec.NodeSelector["kubernetes.io/os"] == "windows":
		return "the pod is for Windows, and the relay runs on Linux alone", plainProxy
	case slices.ContainsFunc(p.Spec.Volumes, func(v Volume) bool { return v.Name == "fairlead-proxy" }):
		return "there is a volume fairlead-proxy already, and it is kept", "another name for the volume"
	}
	return "", ""
}

// Metadata of an object.
type Metadata struct {
	Name        string            `json:"name"`
	Namespace   string            `json:"namespace"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

// Container of a pod.
type Container struct {
	Name    string   `json:"name"`
	Image   string   `json:"image"`
	Command []string `json:"command"`
	Args    []string `json:"args"`
	Env     []EnvVar `json:"env"`
	EnvFrom []struct {
		Prefix       string  `json:"prefix"`
		ConfigMapRef *KeyRef `json:"configMapRef"`
		SecretRef    *KeyRef `json:"secretRef"`
	} `json:"envFrom"`
	VolumeMounts []struct {
		Name      string `json:"name"`
		MountPath string `json:"mountPath"`
		SubPath   string `json:"subPath"`
	} `json:"volumeMounts"`
}

// EnvVar of a container.
type EnvVar struct {
	Name      string `json:"name"`
	Value     string `json:"value"`
	ValueFrom *struct {
		SecretKeyRef    *KeyRef `json:"secretKeyRef"`
		ConfigMapKeyRef *KeyRef `json:"configMapKeyRef"`
	} `json:"valueFrom"`
}

// KeyRef refers to a key of a Secret or ConfigMap, or to all of it.
type KeyRef struct {
	Name     string `json:"name"`
	Key      string `json:"key"`
	Optional bool   `json:"optional"`
}

// Volume of the kinds whose content may be given.
type Volume struct {
	Name      string      `json:"name"`
	ConfigMap *Projection `json:"configMap"`
	Secret    *struct {
		SecretName string    `json:"secretName"`
		Items      []KeyPath `json:"items"`
	} `json:"secret"`
	Projected struct {
		Sources []Source `json:"sources"`
	} `json:"projected"`
}

// Source of a projected volume.
type Source struct {
	ConfigMap *Projection `json:"configMap"`
	Secret    *Projection `json:"secret"`
}

// Projection is an object, and what of it; all if there are no items.
type Projection struct {
	Name  string    `json:"name"`
	Items []KeyPath `json:"items"`
}

// KeyPath says as which file a key appears.
type KeyPath struct {
	Key  string `json:"key"`
	Path string `json:"path"`
}

// Policy is a NetworkPolicy of networking.k8s.io/v1, as far as it is about what leaves a pod.
type Policy struct {
	Metadata Metadata `json:"metadata"`
	Spec     struct {
		PodSelector Selector `json:"podSelector"`
		PolicyTypes []string `json:"policyTypes"`
		Egress      []Egress `json:"egress"`
	} `json:"spec"`
}

// Egress is a rule: of each list one is enough, and an empty list is everything.
type Egress struct {
	To    []Peer `json:"to"`
	Ports []Port `json:"ports"`
}

// Peer is a destination that a rule allows.
type Peer struct {
	IPBlock *struct {
		CIDR   string   `json:"cidr"`
		Except []string `json:"except"`
	} `json:"ipBlock"`
}

// Port is a number, or the name that a container port has.
type Port struct {
	Protocol string `json:"protocol"`
	Port     any    `json:"port"`
	EndPort  int    `json:"endPort"`
}

// Selector is a label selector.
type Selector struct {
	MatchLabels      map[string]string `json:"matchLabels"`
	MatchExpressions []struct {
		Key      string   `json:"key"`
		Operator string   `json:"operator"`
		Values   []string `json:"values"`
	} `json:"matchExpressions"`
}
