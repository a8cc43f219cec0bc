package policies_test

import (
	"context"
	"encoding/json"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// corpus has both engines, with all variants of the policy and the pods that are older.
type corpus struct {
	engines []*engine

	mu        sync.Mutex
	untouched map[string]*corev1.Pod // by the name of the corner
}

// theCorpus outlives the test that asks first.
var theCorpus = sync.OnceValues(func() (*corpus, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	rows, err := decisions()
	if err != nil {
		return nil, err
	}
	engines, err := startEngines(ctx)
	if err != nil {
		return nil, err
	}
	c := &corpus{engines: engines, untouched: map[string]*corev1.Pod{}}
	var all errgroup.Group
	for _, e := range engines {
		all.Go(func() error { return e.prepare(ctx, rows) })
	}
	return c, all.Wait()
})

var tokenVolume = regexp.MustCompile(`kube-api-access-[a-z0-9]{5}`)

// normalized is the pod without what differs between two that are alike.
func normalized(pod *corev1.Pod) (*corev1.Pod, error) {
	pod = pod.DeepCopy()
	if pod.GenerateName != "" {
		pod.Name = ""
	}
	pod.Namespace, pod.UID, pod.ResourceVersion, pod.ManagedFields = "", "", "", nil
	pod.CreationTimestamp, pod.Generation = metav1.Time{}, 0
	for i := range pod.Status.Conditions {
		pod.Status.Conditions[i].LastTransitionTime = metav1.Time{}
	}
	text, err := json.Marshal(pod)
	if err != nil {
		return nil, err
	}
	same := &corev1.Pod{}
	return same, json.Unmarshal(tokenVolume.ReplaceAll(text, []byte("kube-api-access")), same)
}

// differs returns the differences between two pods, but for those.
func differs(want, got *corev1.Pod) (string, error) {
	want, err := normalized(want)
	if err != nil {
		return "", err
	}
	got, err = normalized(got)
	return cmp.Diff(want, got), err
}

// difference tries a corner of the corpus with an engine, and returns the differences between the stored and the
// expected pod. A pod that is refused differs.
func (c *corpus) difference(ctx context.Context, e *engine, where corner) (string, error) {
	want, err := c.want(ctx, e, where)
	if err != nil {
		return "", err
	}
	got, err := e.store(ctx, where)
	if refused(err) {
		return err.Error(), nil
	}
	if err != nil {
		return "", err
	}
	return differs(want, got)
}

// store creates the corner's pod, or adds its ephemeral containers to the pod that is older than the policy. It
// returns the stored pod.
func (e *engine) store(ctx context.Context, where corner) (*corev1.Pod, error) {
	pods := e.clients.CoreV1().Pods(where.namespace())
	if !where.isOld() {
		created, err := pods.Create(ctx, where.pod(), metav1.CreateOptions{})
		if err != nil {
			return nil, err
		}
		return pods.Get(ctx, created.Name, metav1.GetOptions{})
	}
	pod, err := pods.Get(ctx, where.old(), metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	if where.places[0] == relabelled {
		relabel(pod)
		_, err = pods.Update(ctx, pod, metav1.UpdateOptions{})
	} else {
		where.add(pod)
		_, err = pods.UpdateEphemeralContainers(ctx, pod.Name, pod, metav1.UpdateOptions{})
	}
	if err != nil {
		return nil, err
	}
	return pods.Get(ctx, where.old(), metav1.GetOptions{})
}

// want returns the expected pod of a corner.
func (c *corpus) want(ctx context.Context, e *engine, where corner) (*corev1.Pod, error) {
	if !where.isOld() {
		pod, err := c.withoutPolicy(ctx, where)
		if err != nil {
			return nil, err
		}
		return where.expected(pod), nil
	}
	old, err := e.clients.CoreV1().Pods(where.namespace()).Get(ctx, where.old(), metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	if where.places[0] == relabelled {
		relabel(old)
		return old, nil
	}
	debugged, err := c.withoutPolicy(ctx, where)
	if err != nil {
		return nil, err
	}
	old.Spec.EphemeralContainers = append(old.Spec.EphemeralContainers, debugged.Spec.EphemeralContainers...)
	return where.expected(old), nil
}

// withoutPolicy is the corner's pod as it is stored where no policy applies, with its ephemeral containers alone.
func (c *corpus) withoutPolicy(ctx context.Context, where corner) (*corev1.Pod, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	pod := where.pod()
	if where.isOld() {
		pod = where.oldPod()
		pod.Name = where.name() + "-" + ephemeral
	}
	key := pod.Name + pod.GenerateName
	if c.untouched[key] != nil {
		return c.untouched[key], nil
	}
	e := c.engines[0]
	if err := e.create(ctx, untouched, pod); err != nil {
		return nil, err
	}
	pods := e.clients.CoreV1().Pods(untouched)
	if where.isOld() {
		where.add(pod)
		if _, err := pods.UpdateEphemeralContainers(ctx, pod.Name, pod, metav1.UpdateOptions{}); err != nil {
			return nil, err
		}
	}
	stored, err := pods.Get(ctx, pod.Name, metav1.GetOptions{})
	c.untouched[key] = stored
	return stored, err
}

func TestBothEnginesMakeOfEveryPodWhatIsExpected(t *testing.T) {
	c := must(t, theCorpus)
	all := corners(must(t, decisions))
	for _, e := range c.engines {
		t.Run(e.name, func(t *testing.T) {
			each(t, len(all), func(ctx context.Context, i int) error {
				where := all[i]
				diff, err := c.difference(ctx, e, where)
				if err != nil || diff != "" {
					t.Errorf("%s, %s, %v: %v%s", where.variant.name, where.name(), where.places, err, diff)
				}
				return nil
			})
		})
	}
}
