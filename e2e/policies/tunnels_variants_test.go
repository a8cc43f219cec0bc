package policies_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/policies"
	"github.com/fairlead-io/fairlead/internal/agents/mutation/mutationtest"
)

// tunnelLabel is the label of the namespaces of a tunnelVariant.
const tunnelLabel = "e2e.fairlead.io/tunnels"

// tunnelVariant has the chart's policies for some families, in namespaces of their own. inject is the name of
// inject-proxy-env there, if it is there, too: policies are evaluated in the order of their names.
type tunnelVariant struct {
	mutationtest.Variant
	inject string
	last   string // the policy that comes after the others, without tunnel-
}

// twoWays are policies of two ways, which a pod can be for, and so are twoRelays.
var (
	twoWays = tunnelVariant{last: "environment-app", Variant: mutationtest.Variant{
		Name: "two-ways", Text: mutationtest.Relay, Families: []string{mutationtest.Konnectivity, "relay", "teleport"},
	}}
	twoRelays = tunnelVariant{Variant: mutationtest.Variant{
		Name: "two-relays", Text: mutationtest.Sidecar, Families: []string{mutationtest.Konnectivity, "relay", "chisel"}, Values: mutationtest.OverTLS,
	}}
)

func tunnelVariants() []tunnelVariant {
	var all []tunnelVariant
	for _, v := range mutationtest.Variants() {
		all = append(all, tunnelVariant{Variant: v})
	}
	for _, v := range []mutationtest.Variant{mutationtest.Led, mutationtest.Relayed, mutationtest.Beside} {
		for place, inject := range map[string]string{"after": "a-inject-", "before": "z-inject-"} {
			both := tunnelVariant{Variant: v, inject: inject + v.Name}
			both.Name, both.Families = fmt.Sprintf("m-%s-%s", v.Name, place), []string{mutationtest.Konnectivity}
			all = append(all, both)
		}
	}
	return all
}

// policies returns the variant's policies among the rendered objects, narrowed to its namespaces.
func (v tunnelVariant) policies(rendered []byte) ([]*unstructured.Unstructured, error) {
	objects, err := controlplane.Parse(rendered)
	if err != nil {
		return nil, err
	}
	var ours []*unstructured.Unstructured
	var ofFamilies []string
	for _, object := range objects {
		policy, isTunnel := strings.CutPrefix(object.GetName(), "tunnel-")
		if policy == v.last {
			policy = "z-" + policy
		}
		switch {
		case !strings.HasPrefix(object.GetKind(), "Mutating"):
			continue
		case isTunnel && (slices.Contains(ofFamilies, object.GetName()) || v.has(object)):
			ofFamilies = append(ofFamilies, object.GetName()) // and so is the binding, which follows
			object.SetName(v.Name + "-" + policy)
		case object.GetName() == policies.InjectProxyEnv && v.inject != "":
			object.SetName(v.inject)
		default:
			continue
		}
		narrow(object, object.GetName(), tunnelLabel, v.Name)
		ours = append(ours, object)
	}
	return ours, nil
}

// has reports whether a policy selects pods of one of the families.
func (v tunnelVariant) has(policy *unstructured.Unstructured) bool {
	var selector metav1.LabelSelector
	found, _, _ := unstructured.NestedMap(policy.Object, "spec", "matchConstraints", "objectSelector")
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(found, &selector); err != nil || found == nil {
		return false
	}
	selects, err := metav1.LabelSelectorAsSelector(&selector)
	return err == nil && slices.ContainsFunc(v.Families, func(family string) bool { return selects.Matches(labels.Set(mutationtest.Labels[family])) })
}

// theTunnels are the engines of the corpus, with all variants.
var theTunnels = sync.OnceValues(func() ([]*engine, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	c, err := theCorpus()
	if err != nil {
		return nil, err
	}
	var all errgroup.Group
	for _, e := range c.engines {
		all.Go(func() error { return e.prepareTunnels(ctx) })
	}
	return c.engines, all.Wait()
})

// prepareTunnels makes the namespaces and policies of all variants.
func (e *engine) prepareTunnels(ctx context.Context) error {
	variants := append(tunnelVariants(), twoWays, twoRelays)
	rendered := map[string][]byte{} // by settings: Helm is asked once for each
	var objects []*unstructured.Unstructured
	for _, v := range variants {
		if err := e.createNamespace(ctx, v.Name, map[string]string{tunnelLabel: v.Name}); err != nil {
			return err
		}
		settings := fmt.Sprint(v.Values)
		if rendered[settings] == nil {
			var err error
			rendered[settings], err = policies.Render(ctx, policies.Values(), map[string]any{"engine": e.name}, v.Values)
			if err != nil {
				return err
			}
		}
		ours, err := v.policies(rendered[settings])
		if err != nil {
			return err
		}
		objects = append(objects, ours...)
	}
	if err := e.createNamespace(ctx, "led-excluded", map[string]string{tunnelLabel: mutationtest.Led.Name, said: "exclude"}); err != nil {
		return err
	}
	label := fmt.Appendf(nil, `{"metadata": {"labels": {%q: %q}}}`, tunnelLabel, mutationtest.Led.Name)
	if _, err := e.clients.CoreV1().Namespaces().Patch(ctx, "kube-system", types.MergePatchType, label, metav1.PatchOptions{}); err != nil {
		return err
	}
	if err := e.cp.ApplyObjects(ctx, objects...); err != nil {
		return err
	}
	for _, v := range variants {
		if err := e.awaitTunnels(ctx, v); err != nil {
			return fmt.Errorf("await the policies of %s under %s: %w", v.Name, e.name, err)
		}
	}
	return nil
}

// awaitTunnels returns when each policy of the variant does something to a pod that it is for, or makes it impossible.
func (e *engine) awaitTunnels(ctx context.Context, v tunnelVariant) error {
	for _, family := range v.Families {
		canary := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Name: "canary-" + family, Labels: mutationtest.Labels[family],
				Annotations: map[string]string{"fairlead.io/relay-targets": "canary.example:8000"},
			},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{
				Name: mutationtest.AgentOf[family], Image: "agent", Args: []string{"client", "--proxy-server-host=hub.example"},
			}}},
		}
		if err := e.awaitChange(ctx, v.Name, canary, func(stored *corev1.Pod) bool {
			agent := stored.Spec.Containers[0]
			return len(stored.Spec.InitContainers) > 0 || len(agent.Args) > 2 || v.inject == "" && len(agent.Env) > 0
		}); err != nil {
			return fmt.Errorf("%s: %w", family, err)
		}
	}
	if v.inject == "" {
		return nil
	}
	return e.awaitChange(ctx, v.Name, webPod("plain"), func(stored *corev1.Pod) bool { return len(stored.Spec.Containers[0].Env) > 0 })
}
