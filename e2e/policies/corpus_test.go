package policies_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
)

// Where in a pod a container is.
const (
	container     = "container"
	initContainer = "init"
	sidecar       = "sidecar" // a native one: an init container that is restarted
	ephemeral     = "ephemeral"

	relabelled = "relabelled" // no place: an old pod gets another label
)

// untouched is a namespace that no policy is for.
const untouched = "untouched"

// corner is a piece of the corpus: a pod with a container for each row in each place.
type corner struct {
	variant   variant
	selection selection
	rows      []row
	places    []string
}

func (c corner) namespace() string {
	if c.selection.namespace == "" {
		return c.variant.namespace(plainNamespace)
	}
	return c.variant.namespace(c.selection.namespace)
}

func (c corner) name() string {
	return c.selection.name + "-" + c.rows[0].number + "-" + c.rows[len(c.rows)-1].number
}

// isOld says that it is about a pod that is older than the policy.
func (c corner) isOld() bool { return c.places[0] == ephemeral || c.places[0] == relabelled }

// old is the name of that pod.
func (c corner) old() string { return c.selection.name + "-" + c.places[0] }

func (c corner) injected() bool {
	if c.variant.optIn {
		return c.selection.optedIn
	}
	return c.selection.injected
}

// containers are those of a place. Every pod has at least one of the first.
func (c corner) containers(place string) []corev1.Container {
	if !slices.Contains(c.places, place) {
		return nil
	}
	var all []corev1.Container
	for _, r := range c.rows {
		one := *r.has.DeepCopy()
		one.Name, one.Image = place+"-"+r.number, "registry.example/web:1"
		if place == sidecar {
			one.RestartPolicy = ptr.To(corev1.ContainerRestartPolicyAlways)
		}
		all = append(all, one)
	}
	return all
}

func (c corner) pod() *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: c.name()},
		Spec: corev1.PodSpec{
			Containers:     c.containers(container),
			InitContainers: append(c.containers(initContainer), c.containers(sidecar)...),
		},
	}
	if c.selection.change != nil {
		c.selection.change(pod)
	}
	return pod
}

// oldPod is to be created before the policy.
func (c corner) oldPod() *corev1.Pod {
	old := c
	old.rows, old.places = []row{{number: "1"}}, []string{container}
	pod := old.pod()
	pod.Name, pod.GenerateName = c.old(), ""
	return pod
}

// relabel gives the pod another label, and a finalizer.
func relabel(pod *corev1.Pod) {
	labels := map[string]string{"changed": "yes"}
	maps.Copy(labels, pod.Labels)
	pod.Labels, pod.Finalizers = labels, []string{"e2e.fairlead.io/finalizer"}
}

// add adds the corner's ephemeral containers.
func (c corner) add(pod *corev1.Pod) {
	for _, one := range c.containers(ephemeral) {
		pod.Spec.EphemeralContainers = append(pod.Spec.EphemeralContainers, debug(one))
	}
}

// debug is an ephemeral container.
func debug(one corev1.Container) corev1.EphemeralContainer {
	return corev1.EphemeralContainer{EphemeralContainerCommon: corev1.EphemeralContainerCommon(one)}
}

// expected is what becomes of the pod that was stored where no policy applies.
func (c corner) expected(pod *corev1.Pod) *corev1.Pod {
	pod = pod.DeepCopy()
	if !c.injected() {
		return pod
	}
	adds := map[string][]corev1.EnvVar{}
	for _, r := range c.rows {
		for _, place := range c.places {
			adds[place+"-"+r.number] = r.adds(c.variant.entries())
		}
	}
	for _, list := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for i, one := range list {
			list[i].Env = slices.Concat(one.Env, adds[one.Name])
		}
	}
	for i, one := range pod.Spec.EphemeralContainers {
		pod.Spec.EphemeralContainers[i].Env = slices.Concat(one.Env, adds[one.Name])
	}
	return pod
}

var tokenVolume = regexp.MustCompile(`kube-api-access-[a-z0-9]{5}`)

// normalized is the pod without what differs between two that are alike.
func normalized(pod *corev1.Pod) (*corev1.Pod, error) {
	pod = pod.DeepCopy()
	if pod.GenerateName != "" {
		pod.Name = ""
	}
	pod.Namespace, pod.UID, pod.ResourceVersion, pod.ManagedFields = "", "", "", nil
	pod.CreationTimestamp, pod.Generation = metav1.Time{}, 0
	text, err := json.Marshal(pod)
	if err != nil {
		return nil, err
	}
	same := &corev1.Pod{}
	return same, json.Unmarshal(tokenVolume.ReplaceAll(text, []byte("kube-api-access")), same)
}

// corpus has both engines, with all variants of the policy and the pods that are older.
type corpus struct {
	engines []*engine

	mu        sync.Mutex
	untouched map[string]*corev1.Pod // by the name of the corner
}

func mustCorpus(t testing.TB) *corpus {
	t.Helper()
	c, err := theCorpus()
	controlplanetest.Require(t, err)
	return c
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
	errs := make([]error, len(engines))
	var all sync.WaitGroup
	for i, e := range engines {
		all.Go(func() { errs[i] = e.prepare(ctx, rows) })
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return c, nil
})

// corners are the whole corpus: all rows in all places, with all selections and healthy variants. Of pods there are six
// rows to one. An old pod gets its ephemeral containers all at once, another one a label.
func corners(rows []row) []corner {
	var all []corner
	for _, v := range healthy {
		for _, s := range selections {
			if s.static { // it has no secrets and no ephemeral containers
				all = append(all, corner{variant: v, selection: s, rows: rows[:1], places: []string{container, initContainer}})
				continue
			}
			for some := range slices.Chunk(rows, 6) {
				all = append(all, corner{variant: v, selection: s, rows: some, places: []string{container, initContainer, sidecar}})
			}
			all = append(
				all,
				corner{variant: v, selection: s, rows: rows, places: []string{ephemeral}},
				corner{variant: v, selection: s, rows: rows[:1], places: []string{relabelled}},
			)
		}
	}
	return all
}

// oldCorners are those whose pods must be older than the policies.
func (e *engine) oldCorners(rows []row) []corner {
	all := append(corners(rows), corner{variant: secretRef, selection: oneByOne, places: []string{ephemeral}})
	for _, v := range broken(e.name) {
		all = append(all, v.corner(rows))
	}
	return slices.DeleteFunc(all, func(where corner) bool { return !where.isOld() })
}

// prepare makes the namespaces, the pods that are older than the policies, and the policies.
func (e *engine) prepare(ctx context.Context, rows []row) error {
	if err := e.createNamespace(ctx, untouched, nil); err != nil {
		return err
	}
	for _, v := range append(slices.Clone(healthy), lenient, faltering, opened) {
		for _, kind := range []string{plainNamespace, namedNamespace, excludedNamespace, includedNamespace} {
			if err := e.createNamespace(ctx, v.namespace(kind), labelsOf(v, kind)); err != nil {
				return err
			}
		}
	}
	for _, v := range broken(e.name) {
		where := v.corner(rows)
		if err := e.createNamespace(ctx, where.namespace(), labelsOf(v, where.selection.namespace)); err != nil {
			return err
		}
	}
	for _, where := range e.oldCorners(rows) {
		if err := e.createOld(ctx, where); err != nil {
			return fmt.Errorf("create an old pod: %w", err)
		}
	}
	if err := e.labelNamespace(ctx, "kube-system", variantLabel, opened.name); err != nil {
		return err
	}
	objects, err := manifests(ctx, e.name, variants(e.name))
	if err != nil {
		return err
	}
	if err := e.cp.ApplyObjects(ctx, objects...); err != nil {
		return err
	}
	for _, v := range variants(e.name) {
		namespace := v.namespace(plainNamespace)
		if v.fault != nil && v.name != faltering.name {
			namespace = v.corner(rows).namespace()
		}
		if err := e.awaitPolicy(ctx, namespace); err != nil {
			return fmt.Errorf("await the policy for %s under %s: %w", namespace, e.name, err)
		}
	}
	return nil
}

func labelsOf(v variant, kind string) map[string]string {
	labels := map[string]string{variantLabel: v.name}
	switch kind {
	case excludedNamespace:
		labels[said] = "exclude"
	case includedNamespace:
		labels[said] = "include"
	}
	return labels
}

func (e *engine) createNamespace(ctx context.Context, name string, labels map[string]string) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
	_, err := e.clients.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{})
	return err
}

func (e *engine) labelNamespace(ctx context.Context, name, key, value string) error {
	patch := fmt.Appendf(nil, `{"metadata": {"labels": {%q: %q}}}`, key, value)
	_, err := e.clients.CoreV1().Namespaces().Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

// createOld creates a pod with an ephemeral container, before there is a policy.
func (e *engine) createOld(ctx context.Context, c corner) error {
	pod := c.oldPod()
	if err := e.create(ctx, c.namespace(), pod); err != nil {
		return err
	}
	older := debug(corev1.Container{Name: "older", Image: "registry.example/debug:1"})
	pod.Spec.EphemeralContainers = append(pod.Spec.EphemeralContainers, older)
	_, err := e.clients.CoreV1().Pods(c.namespace()).UpdateEphemeralContainers(ctx, pod.Name, pod, metav1.UpdateOptions{})
	return err
}

// create stores a pod, as soon as the service account of its namespace is there, and puts the answer in its place.
func (e *engine) create(ctx context.Context, namespace string, pod *corev1.Pod) error {
	return wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		stored, err := e.clients.CoreV1().Pods(namespace).Create(ctx, pod, metav1.CreateOptions{})
		if noServiceAccount(err) {
			return false, nil
		}
		if err == nil {
			*pod = *stored
		}
		return err == nil, err
	})
}

func noServiceAccount(err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "looking up service account")
}

// refused says that the API server, or a webhook, did not want a pod. A webhook gives a code without a reason.
func refused(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && slices.Contains([]int32{
		http.StatusBadRequest, http.StatusForbidden, http.StatusUnprocessableEntity, http.StatusInternalServerError,
	}, status.Status().Code)
}

// awaitPolicy returns when something happens to a pod that every policy, however broken, would inject somewhere or make
// impossible.
func (e *engine) awaitPolicy(ctx context.Context, namespace string) error {
	return wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		injected, err := e.injected(ctx, namespace)
		return injected || refused(err) && !noServiceAccount(err), nil
	})
}

// injected says whether such a pod would be injected now.
func (e *engine) injected(ctx context.Context, namespace string) (bool, error) {
	canary := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name:        "canary",
			Annotations: map[string]string{said: "include"},
			Labels:      map[string]string{said: "include", "spectrocloud.com/connection": "proxy"},
		},
		Spec: corev1.PodSpec{
			Containers:     []corev1.Container{{Name: "a", Image: "a"}},
			InitContainers: []corev1.Container{{Name: "b", Image: "b"}},
		},
	}
	stored, err := e.clients.CoreV1().Pods(namespace).Create(ctx, canary, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err != nil {
		return false, err
	}
	return len(stored.Spec.Containers[0].Env)+len(stored.Spec.InitContainers[0].Env) > 0, nil
}

// difference puts a corner of the corpus before an engine, and says where the stored pod differs from what is
// expected. A pod that is refused differs.
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
	if want, err = normalized(want); err != nil {
		return "", err
	}
	if got, err = normalized(got); err != nil {
		return "", err
	}
	return cmp.Diff(want, got), nil
}

// store creates the corner's pod, or adds its ephemeral containers to the pod that is older than the policy, and
// reads what is stored then.
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

// want is what the corner is expected to become.
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
	c := mustCorpus(t)
	rows := mustDecisions(t)
	all := corners(rows)
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
