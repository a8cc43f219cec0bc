package replicator

import (
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-io/fairlead/operator/internal/proxysecret"
)

// useBy returns what the pods refer to. Those that have ended start no container again.
func useBy(pods []corev1.Pod) use {
	var all use
	for _, pod := range pods {
		if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
			continue
		}
		keys := references(&pod.Spec)
		all.secret = all.secret || len(keys) > 0
		all.ca = all.ca || slices.Contains(keys, proxysecret.CAKey) || slices.Contains(keys, everyKey)
	}
	return all
}

// everyKey stands for a reference to the Secret as a whole. It is no key.
const everyKey = "*"

// everyVariable stands for one by envFrom, which wants variables.
const everyVariable = "*_PROXY"

// references lists the keys of our Secret that a pod refers to.
func references(spec *corev1.PodSpec) []string {
	var keys []string
	container := func(env []corev1.EnvVar, envFrom []corev1.EnvFromSource) {
		for _, e := range env {
			if e.ValueFrom != nil && e.ValueFrom.SecretKeyRef != nil && e.ValueFrom.SecretKeyRef.Name == proxysecret.Name {
				keys = append(keys, e.ValueFrom.SecretKeyRef.Key)
			}
		}
		for _, from := range envFrom {
			if from.SecretRef != nil && from.SecretRef.Name == proxysecret.Name {
				keys = append(keys, everyVariable) // of which the authorities are none
			}
		}
	}
	for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
		container(c.Env, c.EnvFrom)
	}
	for _, c := range spec.EphemeralContainers {
		container(c.Env, c.EnvFrom)
	}
	for _, volume := range spec.Volumes {
		if volume.Secret != nil && volume.Secret.SecretName == proxysecret.Name {
			keys = append(keys, itemKeys(volume.Secret.Items)...)
		}
		if volume.Projected == nil {
			continue
		}
		for _, part := range volume.Projected.Sources {
			if part.Secret != nil && part.Secret.Name == proxysecret.Name {
				keys = append(keys, itemKeys(part.Secret.Items)...)
			}
		}
	}
	return keys
}

func itemKeys(items []corev1.KeyToPath) []string {
	if len(items) == 0 {
		return []string{everyKey}
	}
	keys := make([]string, len(items))
	for i, item := range items {
		keys[i] = item.Key
	}
	return keys
}

// settleTime is how long nothing may refer to what is taken away. A pod that was injected before its namespace
// was excluded can be stored later; no webhook takes longer than this. It is also how soon pods are asked for again;
// as they may refer to something for months, that grows to longestLook.
const (
	settleTime  = 30 * time.Second
	longestLook = time.Hour
)

// settling remembers since when the pods of a namespace refer to nothing. It is lost with a restart, which only
// delays.
type settling struct {
	mu    sync.Mutex
	since map[string]unused
}

type unused struct {
	secret, ca time.Time
	seen       use       // last,
	steady     time.Time // and since when
}

// watch takes what pods refer to now, and returns what has to be taken for in use, and when to ask again.
func (s *settling) watch(namespace string, now time.Time, seen use) (settled use, again time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.since == nil {
		s.since = map[string]unused{}
	}
	since := s.since[namespace]
	if since.steady.IsZero() || seen != since.seen {
		since.seen, since.steady = seen, now
	}
	settled = use{secret: settle(&since.secret, now, seen.secret), ca: settle(&since.ca, now, seen.ca)}
	s.since[namespace] = since
	return settled, max(settleTime, min(longestLook, now.Sub(since.steady)/10))
}

func settle(since *time.Time, now time.Time, used bool) bool {
	switch {
	case used:
		*since = time.Time{}
	case since.IsZero():
		*since = now
	}
	return used || now.Sub(*since) < settleTime
}

func (s *settling) forget(namespace string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.since, namespace)
}
