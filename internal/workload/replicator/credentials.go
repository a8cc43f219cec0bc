package replicator

import (
	"context"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/internal/core/proxyenv"
	"github.com/fairlead-io/fairlead/internal/core/proxysecret"
)

// credentials counts who has which: copies, and running pods by what they started with. Each replica does, from its caches, so
// that nobody else needs a right to read Secrets or pods. At 5,000 copies each scrape takes 40 ms.
type credentials struct {
	namespace string
	secrets   client.Reader
	pods      cache.Cache
}

var (
	countedDesc = prometheus.NewDesc("fairlead_credentials_counted",
		"1 if credentials are counted: the source has a fingerprint, and caches are filled.", nil, nil)
	credentialCopiesDesc = prometheus.NewDesc("fairlead_credentials_copies",
		"Namespaces whose Secret fairlead-proxy has credentials, by fingerprint.", []string{"fingerprint"}, nil)
	credentialPodsDesc = prometheus.NewDesc("fairlead_credentials_pods",
		"Pods with a running container that refers to the Secret fairlead-proxy, by the fingerprint of the credentials that it started with.", []string{"fingerprint"}, nil)
)

// newCredentials watches all pods that have not ended, and keeps of each when containers started that refer to the Secret.
func newCredentials(config *rest.Config, namespace string, secrets client.Reader) (*credentials, error) {
	pods, err := newCache(config, cache.Options{ByObject: map[client.Object]cache.ByObject{&corev1.Pod{}: {
		Field: fields.AndSelectors(
			fields.OneTermNotEqualSelector("status.phase", string(corev1.PodSucceeded)),
			fields.OneTermNotEqualSelector("status.phase", string(corev1.PodFailed)),
		),
		Transform: startsAlone,
	}}})
	if err != nil {
		return nil, err
	}
	_, err = pods.GetInformer(context.Background(), &corev1.Pod{}, cache.BlockUntilSynced(false))
	return &credentials{namespace, secrets, pods}, err
}

// startsAlone is all that is kept of a pod: when containers started that refer to the URLs in the Secret.
func startsAlone(object any) (any, error) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return object, nil
	}
	kept := &corev1.Pod{ObjectMeta: identity(pod)}
	if len(pod.Spec.Containers) == 0 { // it was here before
		kept.Status.ContainerStatuses = pod.Status.ContainerStatuses
		return kept, nil
	}
	readers := readersOf(&pod.Spec)
	for _, status := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses, pod.Status.EphemeralContainerStatuses) {
		if status.State.Running != nil && readers[status.Name] {
			running := &corev1.ContainerStateRunning{StartedAt: status.State.Running.StartedAt}
			kept.Status.ContainerStatuses = append(kept.Status.ContainerStatuses, corev1.ContainerStatus{State: corev1.ContainerState{Running: running}})
		}
	}
	return kept, nil
}

// readersOf returns the containers that get a URL of the Secret, as a variable or in a file. A file follows the Secret, but a relay
// that reads it may have tunnels from before.
func readersOf(spec *corev1.PodSpec) map[string]bool {
	volumes := map[string]bool{}
	for _, volume := range spec.Volumes {
		volumes[volume.Name] = slices.ContainsFunc(ofVolume(&volume.VolumeSource), reference.hasURL)
	}
	readers := map[string]bool{}
	for _, c := range containersOf(spec) {
		readers[c.Name] = slices.ContainsFunc(ofContainer(c), reference.hasURL) ||
			slices.ContainsFunc(c.VolumeMounts, func(mount corev1.VolumeMount) bool { return volumes[mount.Name] })
	}
	return readers
}

// hasURL reports whether there is a URL behind the reference.
func (r reference) hasURL() bool {
	return r.secret == proxysecret.Name && !slices.Contains([]string{proxysecret.CAKey, proxyenv.NoProxy, proxyenv.LowerNoProxy}, r.key)
}

// scrapeTime bounds a count: whoever scrapes waits.
const scrapeTime = 5 * time.Second

// Describe implements prometheus.Collector.
func (c *credentials) Describe(ch chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{countedDesc, credentialCopiesDesc, credentialPodsDesc} {
		ch <- desc
	}
}

// Collect implements prometheus.Collector.
func (c *credentials) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTime)
	defer cancel()
	copies, pods, ok := c.count(ctx)
	if !ok {
		ch <- prometheus.MustNewConstMetric(countedDesc, prometheus.GaugeValue, 0)
		return
	}
	ch <- prometheus.MustNewConstMetric(countedDesc, prometheus.GaugeValue, 1)
	for desc, counts := range map[*prometheus.Desc]map[string]int{credentialCopiesDesc: copies, credentialPodsDesc: pods} {
		for fingerprint, n := range counts {
			ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(n), fingerprint)
		}
	}
}

func (c *credentials) count(ctx context.Context) (copies, pods map[string]int, ok bool) {
	secrets, running := &corev1.SecretList{}, &corev1.PodList{}
	if c.secrets.List(ctx, secrets, client.UnsafeDisableDeepCopy) != nil || c.pods.List(ctx, running, client.UnsafeDisableDeepCopy) != nil {
		return nil, nil, false
	}
	return countCredentials(c.namespace, secrets.Items, running.Items)
}

// countCredentials takes all Secrets of our name, and pods of which the starts are kept. It changes neither.
func countCredentials(namespace string, secrets []corev1.Secret, running []corev1.Pod) (copies, pods map[string]int, ok bool) {
	at := slices.IndexFunc(secrets, func(s corev1.Secret) bool { return s.Namespace == namespace })
	if at < 0 || secrets[at].Annotations[proxysecret.CredentialsAnnotation] == "" {
		return nil, nil, false
	}
	current, account := secrets[at].Annotations[proxysecret.CredentialsAnnotation], proxysecret.Account(secrets[at].Data)
	copies, pods = map[string]int{}, map[string]int{}
	histories := map[string]proxysecret.History{}
	for i := range secrets {
		s := &secrets[i]
		history := proxysecret.ParseHistory(s.Annotations[proxysecret.CredentialsAnnotation])
		if i == at { // its pods get what it has; it notes no past
			history = proxysecret.History{{Fingerprint: current, Since: proxysecret.DataChangedAt(s)}}
		}
		histories[s.Namespace] = history
		if has := proxysecret.Account(s.Data); has != "" {
			copies[fingerprintOf(has, account, current, history)]++
		}
	}
	for i := range running {
		found := map[string]bool{}
		for _, status := range running[i].Status.ContainerStatuses {
			found[histories[running[i].Namespace].At(status.State.Running.StartedAt.Time)] = true
		}
		for fingerprint := range found {
			if fingerprint != proxysecret.NoCredentials {
				pods[fingerprint]++
			}
		}
	}
	return copies, pods, true
}

// fingerprintOf returns the fingerprint of the account that a Secret has. Its history counts only as far as its data agrees.
func fingerprintOf(has, account, current string, history proxysecret.History) string {
	switch {
	case has == account:
		return current
	case len(history) > 0 && history[0].Fingerprint != current:
		return history[0].Fingerprint
	}
	return proxysecret.Unknown
}
