package mutation_test

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/fairlead-io/fairlead/internal/agents/mutation/mutationtest"
)

// tableRow is a row of a table that says what becomes of its pod.
type tableRow struct{ mutationtest.Row }

// expected returns the row's pod as the table says that it becomes.
func expected(row mutationtest.Row, entries []corev1.EnvVar) *corev1.Pod {
	r, pod := tableRow{row}, row.Pod()
	for _, list := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for i := range list {
			switch r.Text {
			case mutationtest.Relay:
				r.settle(&list[i])
			case mutationtest.Sidecar:
				r.lead(&list[i], entries)
			default:
				r.equip(&list[i], entries)
			}
			r.extend(&list[i])
		}
	}
	switch targets := r.targets(); {
	case len(targets) > 0 && r.Text == mutationtest.Sidecar:
		addSidecar(pod, targets[0])
	case len(targets) > 0:
		addRelay(pod, targets, slices.Contains(r.Gets, "sysctl"))
	}
	if slices.Contains(r.Gets, "user") {
		pod.Spec.InitContainers[0].SecurityContext.RunAsUser = ptr.To[int64](65532)
	}
	return pod
}

// lead tells an agent that the row names of the sidecar.
func (r tableRow) lead(one *corev1.Container, entries []corev1.EnvVar) {
	if !slices.Contains(r.Gets, one.Name) {
		return
	}
	url := "http://" + r.targets()[0]
	entries = slices.Clone(entries)
	for i, entry := range entries {
		if strings.ToUpper(entry.Name) != "NO_PROXY" {
			entries[i] = corev1.EnvVar{Name: entry.Name, Value: url}
		}
	}
	r.set(one, entries)
	one.EnvFrom = slices.DeleteFunc(one.EnvFrom, isOurs)
	for _, line := range []*[]string{&one.Command, &one.Args} {
		if at := slices.Index(*line, "client"); at >= 0 && slices.Contains(r.Gets, "flag") {
			*line = slices.Insert(slices.Clone(*line), at+1, "--proxy="+url)
			return
		}
	}
}

// equip sets the variables that the row names, by their group or to the letter.
func (r tableRow) equip(one *corev1.Container, entries []corev1.EnvVar) {
	if one.Name == mutationtest.AgentOf[r.Family] {
		r.set(one, entries)
	}
}

func (r tableRow) set(one *corev1.Container, entries []corev1.EnvVar) {
	for _, entry := range entries {
		group := strings.ToUpper(entry.Name)
		if group != "NO_PROXY" {
			group = strings.TrimSuffix(group, "_PROXY")
		}
		if slices.Contains(r.Gets, group) || slices.Contains(r.Gets, entry.Name) {
			replaceOrAppend(one, entry)
		}
	}
}

func replaceOrAppend(one *corev1.Container, entry corev1.EnvVar) {
	replaced := false
	for i := range one.Env {
		if one.Env[i].Name == entry.Name {
			one.Env[i], replaced = entry, true
		}
	}
	if !replaced {
		one.Env = append(one.Env, entry)
	}
}

// settle takes the variables of a proxy from an agent that the row names.
func (r tableRow) settle(one *corev1.Container) {
	if !slices.Contains(r.Gets, one.Name) {
		return
	}
	one.Env = slices.DeleteFunc(one.Env, func(e corev1.EnvVar) bool {
		return slices.Contains([]string{"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY"}, strings.ToUpper(e.Name))
	})
	one.Env = append(one.Env, corev1.EnvVar{Name: "NO_PROXY", Value: "*"}, corev1.EnvVar{Name: "no_proxy", Value: "*"})
}

// extend adds the arguments that the row names to who has a hub.
func (r tableRow) extend(one *corev1.Container) {
	hub := slices.ContainsFunc(slices.Concat(one.Command, one.Args), func(a string) bool { return strings.HasPrefix(a, "--proxy-server-host") })
	for _, what := range r.Gets {
		if strings.HasPrefix(what, "--") && hub {
			one.Args = append(one.Args, what)
		}
	}
}

func (r tableRow) targets() []string {
	var targets []string
	for _, what := range r.Gets {
		if strings.Contains(what, ":") {
			targets = append(targets, what)
		}
	}
	return targets
}

// addSidecar adds a relay that is a forward proxy.
func addSidecar(pod *corev1.Pod, address string) {
	addRelayWith(pod, []string{"--listen=" + address, "--direct"}, "HTTP_PROXY", "NO_PROXY")
	if !pod.Spec.HostNetwork {
		return
	}
	relay := &pod.Spec.InitContainers[0]
	health := strings.Replace(address, "127.0.0.1", "127.0.0.2", 1)
	relay.Args = append(relay.Args, "--health-address="+health)
	host, port, _ := strings.Cut(health, ":")
	for _, probe := range []*corev1.Probe{relay.StartupProbe, relay.ReadinessProbe} {
		probe.HTTPGet.Host, probe.HTTPGet.Port = host, intstr.Parse(port)
	}
}

// addRelayWith adds a relay that has keys of the Secret beside HTTPS_PROXY.
func addRelayWith(pod *corev1.Pod, arguments []string, keys ...string) {
	pod.Spec.InitContainers = append([]corev1.Container{relayWith(arguments)}, pod.Spec.InitContainers...)
	metav1.SetMetaDataLabel(&pod.ObjectMeta, "fairlead.io/trusted-ca", "configmap")
	projection := func(optional *bool, keys ...string) corev1.VolumeProjection {
		var items []corev1.KeyToPath
		for _, key := range keys {
			items = append(items, corev1.KeyToPath{Key: key, Path: key})
		}
		return corev1.VolumeProjection{Secret: &corev1.SecretProjection{
			LocalObjectReference: corev1.LocalObjectReference{Name: secret}, Items: items, Optional: optional,
		}}
	}
	authorities := corev1.VolumeProjection{ConfigMap: &corev1.ConfigMapProjection{
		LocalObjectReference: corev1.LocalObjectReference{Name: "fairlead-trusted-ca"}, Items: []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}}, Optional: ptr.To(true),
	}}
	pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: secret, VolumeSource: corev1.VolumeSource{
		Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{projection(nil, "HTTPS_PROXY"), projection(ptr.To(true), keys...), authorities}},
	}})
	pod.Spec.ImagePullSecrets = append(pod.Spec.ImagePullSecrets, corev1.LocalObjectReference{Name: mutationtest.RelayPullSecret})
}

func addRelay(pod *corev1.Pod, targets []string, sysctl bool) {
	var arguments []string
	for _, target := range targets {
		arguments = append(arguments, "--target="+target)
	}
	addRelayWith(pod, arguments, "NO_PROXY")
	at := slices.IndexFunc(pod.Spec.HostAliases, func(a corev1.HostAlias) bool { return a.IP == "127.0.0.1" })
	if at < 0 {
		at = len(pod.Spec.HostAliases)
		pod.Spec.HostAliases = append(pod.Spec.HostAliases, corev1.HostAlias{IP: "127.0.0.1"})
	}
	for _, target := range targets {
		name, _, _ := strings.Cut(target, ":")
		if alias := &pod.Spec.HostAliases[at]; !slices.Contains(alias.Hostnames, name) {
			alias.Hostnames = append(alias.Hostnames, name)
		}
	}
	if sysctl {
		pod.Spec.SecurityContext = &corev1.PodSecurityContext{Sysctls: []corev1.Sysctl{{Name: "net.ipv4.ip_unprivileged_port_start", Value: "0"}}}
	}
}

func relayWith(arguments []string) corev1.Container {
	return corev1.Container{
		Name:          "fairlead-relay",
		Image:         "ghcr.io/fairlead-io/fairlead-relay:0.1.0",
		RestartPolicy: ptr.To(corev1.ContainerRestartPolicyAlways),
		Args:          append([]string{"--proxy=/run/fairlead-proxy"}, arguments...),
		Env:           []corev1.EnvVar{{Name: "NO_PROXY", Value: "*"}, {Name: "no_proxy", Value: "*"}},
		Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{"cpu": resource.MustParse("5m"), "memory": resource.MustParse("16Mi")},
			Limits:   corev1.ResourceList{"cpu": resource.MustParse("500m"), "memory": resource.MustParse("64Mi")},
		},
		StartupProbe:   &corev1.Probe{ProbeHandler: asks("/healthz"), PeriodSeconds: 1, FailureThreshold: 60},
		ReadinessProbe: &corev1.Probe{ProbeHandler: asks("/readyz")},
		SecurityContext: &corev1.SecurityContext{
			RunAsNonRoot: ptr.To(true), ReadOnlyRootFilesystem: ptr.To(true),
			AllowPrivilegeEscalation: ptr.To(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
		VolumeMounts: []corev1.VolumeMount{
			{Name: secret, MountPath: "/run/fairlead-proxy", ReadOnly: true},
			{Name: secret, MountPath: "/var/run/secrets/kubernetes.io/serviceaccount", ReadOnly: true},
		},
	}
}

func asks(path string) corev1.ProbeHandler {
	return corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromInt32(8099)}}
}

// injectedToo adds the variables that inject-proxy-env adds to the agent of a row, as
// its README says.
func injectedToo(one *corev1.Container, entries []corev1.EnvVar) {
	owns := func(group string) bool {
		return slices.ContainsFunc(one.Env, func(e corev1.EnvVar) bool { return strings.ToUpper(e.Name) == group }) ||
			slices.ContainsFunc(one.EnvFrom, func(from corev1.EnvFromSource) bool {
				return from.ConfigMapRef != nil && strings.Contains(from.ConfigMapRef.Name, "proxy") && strings.HasPrefix(group, strings.ToUpper(from.Prefix))
			})
	}
	owned := map[string]bool{}
	for _, group := range []string{"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY"} {
		owned[group] = owns(group)
	}
	if owned["NO_PROXY"] || owned["ALL_PROXY"] || owned["HTTP_PROXY"] && owned["HTTPS_PROXY"] {
		return
	}
	for _, entry := range entries {
		if !owned[strings.ToUpper(entry.Name)] {
			one.Env = append(one.Env, entry)
		}
	}
}
