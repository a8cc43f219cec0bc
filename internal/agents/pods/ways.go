package pods

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/fairlead-io/fairlead/internal/core/proxysecret"
)

// Ways says by which objects of Fairlead the pods leave: as long as a pod does, they are needed.
type Ways struct {
	Relay  Count `json:"relay"`  // variables that name a relay
	Secret Count `json:"secret"` // references to the Secret fairlead-proxy, by variables, sources or volumes
}

// Count is how many pods there are, and where.
type Count struct {
	Pods       int      `json:"pods"`
	Namespaces []string `json:"namespaces"`
}

func (c *Count) add(namespace string) {
	c.Pods++
	if at, ok := slices.BinarySearch(c.Namespaces, namespace); !ok {
		c.Namespaces = slices.Insert(c.Namespaces, at, namespace)
	}
}

// Ways counts the pods that can still start a container.
func (c Cluster) Ways() Ways {
	ways := Ways{Relay: Count{Namespaces: []string{}}, Secret: Count{Namespaces: []string{}}}
	for i := range c.Pods {
		pod := &c.Pods[i]
		if pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
			continue
		}
		relayed, refers := false, slices.ContainsFunc(pod.Spec.Volumes, holdsProxySecret)
		for _, one := range containers(pod) {
			relayed = relayed || slices.ContainsFunc(one.Env, func(e corev1.EnvVar) bool { return leadsToRelay(e, pod.Namespace) })
			refers = refers || references(one.Container) != nil
		}
		if relayed {
			ways.Relay.add(pod.Namespace)
		}
		if refers {
			ways.Secret.add(pod.Namespace)
		}
	}
	return ways
}

// isReference says whether a variable refers to the Secret fairlead-proxy.
func isReference(e corev1.EnvVar) bool {
	return e.ValueFrom != nil && e.ValueFrom.SecretKeyRef != nil && e.ValueFrom.SecretKeyRef.Name == proxysecret.Name
}

// references returns the references of a container to the Secret fairlead-proxy, and whether each is optional.
func references(c corev1.Container) (optional []bool) {
	for _, e := range c.Env {
		if isReference(e) {
			optional = append(optional, ptr.Deref(e.ValueFrom.SecretKeyRef.Optional, false))
		}
	}
	for _, from := range c.EnvFrom {
		if from.SecretRef != nil && from.SecretRef.Name == proxysecret.Name {
			optional = append(optional, ptr.Deref(from.SecretRef.Optional, false))
		}
	}
	return optional
}

// startedWithout says whether a container runs that did not wait for the Secret, and had none. In a namespace that is not served,
// references are optional.
func (c Cluster) startedWithout(pod *corev1.Pod, one container) bool {
	return one.state.Running != nil && one.state.Running.StartedAt.Time.Before(c.ServedSince[pod.Namespace]) && slices.Contains(references(one.Container), true)
}

// without returns the message about a container that started without the settings, with the advice.
func (c Cluster) without(pod *corev1.Pod) string {
	const text = "may have started without the settings, before there was a Secret " + proxysecret.Name + " in its namespace: restart it"
	if c.ServedSince[pod.Namespace] != Never {
		return text
	}
	return text + " once there is one"
}

// holdsProxySecret reports whether a volume has the Secret fairlead-proxy in it.
func holdsProxySecret(v corev1.Volume) bool {
	if v.Secret != nil {
		return v.Secret.SecretName == proxysecret.Name
	}
	return v.Projected != nil && slices.ContainsFunc(v.Projected.Sources, func(s corev1.VolumeProjection) bool {
		return s.Secret != nil && s.Secret.Name == proxysecret.Name
	})
}
