package policies_test

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/policies"
)

// tunnelDifference puts a row before an engine, and says where the stored pod differs from the expected one. Who is
// created a second time, as stored, must not change again.
func (e *engine) tunnelDifference(ctx context.Context, v tunnelVariant, r tunnelRow) (string, error) {
	entries := v.entries(r.pod().Spec.HostNetwork)
	want := r.expected(entries)
	if v.inject != "" && !want.Spec.HostNetwork { // else inject-proxy-env leaves it out
		for _, list := range [][]corev1.Container{want.Spec.Containers, want.Spec.InitContainers} {
			for i := range list {
				injectedToo(&list[i], entries)
			}
		}
	}
	want.Name = v.name + "-" + r.name()
	if err := e.create(ctx, untouched, want); err != nil {
		return "", err
	}
	got := r.pod()
	for range 2 {
		if err := e.create(ctx, v.name, got); err != nil {
			if refused(err) {
				return err.Error(), nil
			}
			return "", err
		}
		if diff := gocmp.Diff(tunnelNormalized(want, v), tunnelNormalized(got, v)); diff != "" {
			return diff, nil
		}
		got = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: got.Name + "-again", Labels: got.Labels, Annotations: got.Annotations}, Spec: got.Spec}
	}
	return "", nil
}

// tunnelNormalized is what counts of a pod. In which order volumes are, and with two policies also variables, does not.
func tunnelNormalized(pod *corev1.Pod, v tunnelVariant) *corev1.PodSpec {
	same, err := normalized(pod)
	if err != nil {
		panic(err)
	}
	spec := &same.Spec
	slices.SortFunc(spec.Volumes, func(a, b corev1.Volume) int { return cmp.Compare(a.Name, b.Name) })
	if v.inject != "" {
		for _, list := range [][]corev1.Container{spec.Containers, spec.InitContainers} {
			for _, one := range list {
				slices.SortStableFunc(one.Env, func(a, b corev1.EnvVar) int { return cmp.Compare(a.Name, b.Name) })
			}
		}
		withoutSource(spec)
	}
	return spec
}

// withoutSource takes away the Secret as a whole and what hides its certificates, which an agent has below variables of
// the same values if inject-proxy-env came first.
func withoutSource(spec *corev1.PodSpec) {
	for _, list := range [][]corev1.Container{spec.Containers, spec.InitContainers} {
		for i := range list {
			list[i].EnvFrom = slices.DeleteFunc(list[i].EnvFrom, func(from corev1.EnvFromSource) bool {
				return from.SecretRef != nil && from.SecretRef.Name == policies.Secret
			})
			if len(list[i].EnvFrom) == 0 {
				list[i].EnvFrom = nil
			}
			list[i].Env = slices.DeleteFunc(list[i].Env, func(e corev1.EnvVar) bool { return e == corev1.EnvVar{Name: policies.TrustedCAKey} })
			if len(list[i].Env) == 0 {
				list[i].Env = nil
			}
		}
	}
}

func TestEveryRowOfTheTablesOfTunnelsHoldsUnderBothEngines(t *testing.T) {
	for _, e := range tunnelEngines(t) {
		for _, v := range tunnelVariants() {
			t.Run(e.name+"/"+v.name, func(t *testing.T) {
				rows := slices.DeleteFunc(mustTunnelRows(t, v.text), func(r tunnelRow) bool { return !slices.Contains(v.families, r.family) })
				each(t, len(rows), func(ctx context.Context, i int) error {
					diff, err := e.tunnelDifference(ctx, v, rows[i])
					if err != nil || diff != "" {
						t.Errorf("row %s: %v%s", rows[i].number, err, diff)
					}
					return nil
				})
			})
		}
	}
}

func TestAgentsAreFoundInAllPlacesAndTheirNeighboursLeftAlone(t *testing.T) {
	agent := func(name string) corev1.Container {
		return corev1.Container{Name: name, Image: "registry.example/agent:1", Args: []string{"--proxy-server-host=hub.example"}}
	}
	sidecar := agent("addon-agent")
	sidecar.RestartPolicy = ptr.To(corev1.ContainerRestartPolicyAlways)
	for _, e := range tunnelEngines(t) {
		for family, reached := range map[string][]string{
			clusterProxy: {"proxy-agent", "service-proxy", "addon-agent"},
			byLabel:      {"proxy-agent", "service-proxy", "addon-agent", "neighbour", "first"}, // without names, all
		} {
			t.Run(e.name+"/"+family, func(t *testing.T) {
				pod := &corev1.Pod{
					ObjectMeta: metav1.ObjectMeta{Name: "places-" + family, Labels: tunnelLabels[family]},
					Spec: corev1.PodSpec{
						InitContainers: []corev1.Container{sidecar, agent("first")},
						Containers:     []corev1.Container{agent("proxy-agent"), agent("neighbour"), agent("service-proxy")},
					},
				}
				controlplanetest.Require(t, e.create(t.Context(), led.name, pod))
				for _, one := range slices.Concat(pod.Spec.Containers, pod.Spec.InitContainers) {
					var want []corev1.EnvVar
					if slices.Contains(reached, one.Name) {
						want = led.entries(false)
					}
					if diff := gocmp.Diff(want, one.Env); diff != "" {
						t.Errorf("%s: %s", one.Name, diff)
					}
					if extended := len(one.Args) == 2; extended != (family == clusterProxy && len(want) > 0) {
						t.Errorf("%s has %v", one.Name, one.Args)
					}
				}
			})
		}
	}
}

// What the selectors and the policy leave out, and kube-system, which Kyverno does not see.
func TestAgentsThatAreExcludedAreLeftAlone(t *testing.T) {
	for _, e := range tunnelEngines(t) {
		for name, test := range map[string]struct {
			namespace string
			change    func(*corev1.Pod)
			changed   bool
		}{
			"plain":               {led.name, func(*corev1.Pod) {}, true},
			"include":             {led.name, func(p *corev1.Pod) { p.Labels[said] = "include" }, true},
			"annotation":          {led.name, annotated("exclude"), false},
			"label":               {led.name, func(p *corev1.Pod) { p.Labels[said] = "exclude" }, false},
			"namespace":           {"led-excluded", func(*corev1.Pod) {}, false},
			"mirror":              {led.name, mirror, false},
			"another label":       {led.name, func(p *corev1.Pod) { p.Labels = map[string]string{"k8s-app": "konnectivity-server"} }, false},
			"relayed, annotation": {relayed.name, annotated("exclude"), false},
			"relayed, label":      {relayed.name, func(p *corev1.Pod) { p.Labels[said] = "exclude" }, false},
			"hosted":              {led.name, func(p *corev1.Pod) { p.Labels["hypershift.openshift.io/hosted-control-plane"] = "a" }, false},
			"relayed, hosted":     {relayed.name, func(p *corev1.Pod) { p.Labels["hypershift.openshift.io/control-plane-component"] = "a" }, false},
			"relayed, mirror":     {relayed.name, mirror, false},
			"kube-system":         {"kube-system", func(*corev1.Pod) {}, e.name == native},
		} {
			t.Run(e.name+"/"+name, func(t *testing.T) {
				pod := &corev1.Pod{
					ObjectMeta: metav1.ObjectMeta{GenerateName: "excluded-", Labels: map[string]string{"k8s-app": "konnectivity-agent"}},
					Spec: corev1.PodSpec{Containers: []corev1.Container{{
						Name: "konnectivity-agent", Image: "agent", Args: []string{"--proxy-server-host=hub.example"},
					}}},
				}
				test.change(pod)
				controlplanetest.Require(t, e.create(t.Context(), test.namespace, pod))
				one := pod.Spec.Containers[0]
				if changed := len(one.Env) > 0 && len(one.Args) > 1; changed != test.changed || !changed && len(one.Env)+len(one.Args)+len(pod.Spec.InitContainers) != 1 {
					t.Errorf("it has %v, %v", one.Env, one.Args)
				}
			})
		}
	}
}

// Who asks for a relay and is of a family that goes by the variables has the relay alone, whichever policy comes first:
// that of tunnel-relay does after that for k8s-app, and before that for app, which the variant calls last. With a sidecar
// of its family's way, it is the selectors that leave it to the other policy.
func TestWhoAsksForTargetsHasTheRelayAlone(t *testing.T) {
	settled := []corev1.EnvVar{{Name: "NO_PROXY", Value: "*"}, {Name: "no_proxy", Value: "*"}}
	for _, e := range tunnelEngines(t) {
		for _, test := range []struct {
			variant tunnelVariant
			family  string
			args    []string
		}{
			{twoWays, konnectivity, nil},
			{twoWays, "teleport", nil},
			{twoRelays, konnectivity, []string{"client", "https://hub.example"}},
			{twoRelays, "chisel", []string{"client", "https://hub.example"}},
		} {
			t.Run(e.name+"/"+test.variant.name+"/"+test.family, func(t *testing.T) {
				pod := &corev1.Pod{
					ObjectMeta: metav1.ObjectMeta{
						GenerateName: "both-", Labels: map[string]string{"fairlead.io/tunnel": "relay"},
						Annotations: map[string]string{"fairlead.io/relay-targets": "hub.example:8132"},
					},
					Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: test.family, Image: "agent", Args: test.args}}},
				}
				maps.Copy(pod.Labels, tunnelLabels[test.family])
				controlplanetest.Require(t, e.create(t.Context(), test.variant.name, pod))
				if relays := pod.Spec.InitContainers; len(relays) != 1 || !slices.Contains(relays[0].Args, "--target=hub.example:8132") {
					t.Errorf("its relays are %+v", relays)
				}
				agent := pod.Spec.Containers[0]
				if diff := gocmp.Diff(settled, agent.Env) + gocmp.Diff(test.args, agent.Args); diff != "" {
					t.Errorf("variables and arguments -want +got:\n%s", diff)
				}
			})
		}
	}
}
