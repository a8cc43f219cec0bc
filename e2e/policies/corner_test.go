package policies_test

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/e2e/policies"
	"github.com/fairlead-io/fairlead/e2e/tier"
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
	if pod := (corev1.Pod{}); c.variant.name == byRelay.name && c.selection.change != nil {
		if c.selection.change(&pod); pod.Spec.HostNetwork {
			return false // there is no relay
		}
	}
	if c.variant.optIn {
		return c.selection.optedIn
	}
	return c.selection.injected
}

// optional is of references to the Secret.
func (c corner) optional() *bool {
	if c.selection.namespace == unservedNamespace || c.selection.namespace == unmarkedNamespace {
		return new(true)
	}
	return nil
}

// containers returns the containers of a place. Every pod has at least one of the first place.
func (c corner) containers(place string) []corev1.Container {
	if !slices.Contains(c.places, place) {
		return nil
	}
	var all []corev1.Container
	for _, r := range c.rows {
		one := *r.has.DeepCopy()
		one.Name, one.Image = place+"-"+r.number, "registry.example/web:1"
		if place == sidecar {
			one.RestartPolicy = new(corev1.ContainerRestartPolicyAlways)
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

// expected returns the expected pod. pod was stored where no policy applies.
func (c corner) expected(pod *corev1.Pod) *corev1.Pod {
	pod = pod.DeepCopy()
	if !c.injected() {
		return pod
	}
	rows := map[string]row{}
	for _, r := range c.rows {
		for _, place := range c.places {
			rows[place+"-"+r.number] = r
		}
	}
	for _, one := range everyContainer(&pod.Spec) {
		r, isRow := rows[one.Name]
		entries := c.variant.entries(c.namespace(), pod.Spec.HostNetwork)
		for _, entry := range entries {
			if entry.ValueFrom != nil {
				entry.ValueFrom.SecretKeyRef.Optional = c.optional()
			}
		}
		switch {
		case !isRow:
			continue
		case r.below && c.variant.values["carry"] == nil:
			secret := corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: policies.Secret}, Optional: c.optional()}
			one.EnvFrom = slices.Concat([]corev1.EnvFromSource{{SecretRef: &secret}}, one.EnvFrom)
			one.Env = slices.Concat(one.Env, []corev1.EnvVar{{Name: policies.TrustedCAKey}}) // hides the Secret's key
			if !r.list {
				one.Env = slices.Concat(one.Env, extended(entries, c.selection.more))
			}
		default:
			one.Env = slices.Concat(one.Env, r.under(c.variant).adds(entries, c.selection.more))
		}
		if r.list {
			one.Env = asked(one.Env, entries)
		}
	}
	return pod
}

// everyContainer returns the containers of a pod, of all kinds, to be read or changed.
func everyContainer(pod *corev1.PodSpec) []*corev1.Container {
	var all []*corev1.Container
	for _, list := range [][]corev1.Container{pod.Containers, pod.InitContainers} {
		for i := range list {
			all = append(all, &list[i])
		}
	}
	for i := range pod.EphemeralContainers {
		all = append(all, (*corev1.Container)(&pod.EphemeralContainers[i].EphemeralContainerCommon))
	}
	return all
}

// corners are the whole corpus: all rows in all places, with all selections and healthy variants. Of pods there are six
// rows to one. An old pod gets its ephemeral containers all at once, another one a label. In make test the first rows stand
// for all, but with one variant.
func corners(rows []row) []corner {
	var all []corner
	for _, v := range healthy {
		for _, s := range selections {
			if s.static { // it has no secrets and no ephemeral containers
				all = append(all, corner{variant: v, selection: s, rows: rows[:1], places: []string{container, initContainer}})
				continue
			}
			for some := range slices.Chunk(rows, 6) {
				if tier.Short() && v.name != secretRef.name && some[0].number != rows[0].number {
					break
				}
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
func oldCorners(rows []row) []corner {
	return slices.DeleteFunc(corners(rows), func(where corner) bool { return !where.isOld() })
}
