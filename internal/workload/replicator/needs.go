package replicator

import (
	"context"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/internal/core/proxysecret"
)

// page is how many pods are in memory at a time: a namespace may have 20,000, of which each takes some 10 KiB.
const page = 500

// needsIn returns what the pods of a namespace refer to, as they are now.
func needsIn(ctx context.Context, live client.Reader, namespace string) (needs, error) {
	var all needs
	for next := ""; ; {
		pods := &corev1.PodList{}
		if err := live.List(ctx, pods, client.InNamespace(namespace), client.Limit(page), client.Continue(next)); err != nil {
			return needs{}, err
		}
		all.add(pods.Items...)
		if next = pods.Continue; next == "" {
			return all, nil
		}
	}
}

// add adds what the pods refer to. Those that have ended start no container again.
func (all *needs) add(pods ...corev1.Pod) {
	for _, pod := range pods {
		if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
			continue
		}
		for _, r := range references(&pod.Spec) {
			all.secret = all.secret || r.secret == proxysecret.Name
			all.ca = all.ca || r.secret == proxysecret.Name && (r.key == proxysecret.CAKey || r.key == everyKey)
			all.trustedCA = all.trustedCA || r.configMap == proxysecret.TrustedCAName
		}
	}
}

// everyKey stands for a reference to an object as a whole. It is no key.
const everyKey = "*"

// everyVariable stands for a reference by envFrom, which wants variables.
const everyVariable = "*_PROXY"

// reference is to a key of a Secret or of a ConfigMap.
type reference struct{ secret, configMap, key string }

// references returns the references of a pod to Secrets and ConfigMaps.
func references(spec *corev1.PodSpec) []reference {
	var found []reference
	for _, c := range containersOf(spec) {
		found = append(found, ofContainer(c)...)
	}
	for _, volume := range spec.Volumes {
		found = append(found, ofVolume(&volume.VolumeSource)...)
	}
	return found
}

func containersOf(spec *corev1.PodSpec) []corev1.Container {
	all := slices.Concat(spec.InitContainers, spec.Containers)
	for _, c := range spec.EphemeralContainers {
		all = append(all, corev1.Container(c.EphemeralContainerCommon))
	}
	return all
}

func ofContainer(container corev1.Container) []reference {
	var found []reference
	for _, e := range container.Env {
		if e.ValueFrom != nil && e.ValueFrom.SecretKeyRef != nil {
			found = append(found, reference{secret: e.ValueFrom.SecretKeyRef.Name, key: e.ValueFrom.SecretKeyRef.Key})
		}
		if e.ValueFrom != nil && e.ValueFrom.ConfigMapKeyRef != nil {
			found = append(found, reference{configMap: e.ValueFrom.ConfigMapKeyRef.Name})
		}
	}
	for _, from := range container.EnvFrom {
		if from.SecretRef != nil {
			found = append(found, reference{secret: from.SecretRef.Name, key: everyVariable}) // of which the authorities are none
		}
		if from.ConfigMapRef != nil {
			found = append(found, reference{configMap: from.ConfigMapRef.Name})
		}
	}
	return found
}

func ofVolume(volume *corev1.VolumeSource) []reference {
	var found []reference
	secret := func(name string, items []corev1.KeyToPath) {
		if len(items) == 0 {
			items = []corev1.KeyToPath{{Key: everyKey}}
		}
		for _, item := range items {
			found = append(found, reference{secret: name, key: item.Key})
		}
	}
	if volume.Secret != nil {
		secret(volume.Secret.SecretName, volume.Secret.Items)
	}
	if volume.ConfigMap != nil {
		found = append(found, reference{configMap: volume.ConfigMap.Name})
	}
	if volume.Projected == nil {
		return found
	}
	for _, part := range volume.Projected.Sources {
		if part.Secret != nil {
			secret(part.Secret.Name, part.Secret.Items)
		}
		if part.ConfigMap != nil {
			found = append(found, reference{configMap: part.ConfigMap.Name})
		}
	}
	return found
}

// settleTime is how long nothing may refer to what is taken away. A pod that was injected before its namespace
// was excluded can be stored later; no webhook takes longer than this. It is also how soon pods are asked for again;
// as they may refer to something for months, that grows to longestLook.
const (
	settleTime  = 30 * time.Second
	longestLook = time.Hour
)

// settling remembers since when the pods of a namespace refer to nothing that is to be removed. A restart loses it, which only
// delays the removal.
type settling struct {
	mu    sync.Mutex
	since map[string]*unused
}

type unused struct {
	secret, ca, trustedCA time.Time
	blocking              needs     // what pods referred to at the last poll and is to be removed
	blockingSince         time.Time // when that last changed
}

func (s *settling) of(namespace string, now time.Time) *unused {
	if s.since == nil {
		s.since = map[string]*unused{}
	}
	if s.since[namespace] == nil {
		s.since[namespace] = &unused{blockingSince: now}
	}
	return s.since[namespace]
}

// watch takes the references that pods have now, and returns those in use: also the ones seen less than settleTime ago.
func (s *settling) watch(namespace string, now time.Time, seen needs) needs {
	s.mu.Lock()
	defer s.mu.Unlock()
	since := s.of(namespace, now)
	return needs{
		secret:    settle(&since.secret, now, seen.secret),
		ca:        settle(&since.ca, now, seen.ca),
		trustedCA: settle(&since.trustedCA, now, seen.trustedCA),
	}
}

// nextPoll returns how long to wait before the pods of a namespace are read again. blocking is what keeps something from being
// removed, because pods still refer to it. A password must go soon, so the wait begins at settleTime, and grows while nothing
// changes. Certificates are public, and a changed bundle blocks all namespaces at once: they wait for about longestLook each.
func (s *settling) nextPoll(namespace string, now time.Time, blocking needs) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	since := s.of(namespace, now)
	if blocking != since.blocking {
		since.blocking, since.blockingSince = blocking, now
	}
	if !blocking.secret && (blocking.ca || blocking.trustedCA) {
		return wait.Jitter(longestLook, 0.1)
	}
	return max(settleTime, min(longestLook, now.Sub(since.blockingSince)/10))
}

// settle reports whether something counts as in use, and keeps in since the time from which nothing used it.
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
