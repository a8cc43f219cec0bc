// Package cage makes sure, at the start of a program, that admission policies keep its writes to those it is there
// for. RBAC alone would let it create any Secret.
package cage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/internal/write/apply"
)

// timeout is longer than the API server takes to notice a new policy.
const timeout = 10 * time.Second

// Policies are the names of the ValidatingAdmissionPolicies of a program.
type Policies struct {
	Secrets    string // about Secrets
	ConfigMaps string // about ConfigMaps; empty for a program that writes none
	Writes     string // about everything that may be written at all; empty where RBAC allows no Lease to try it with
}

// probe is an object that RBAC lets the program create and that a policy must refuse.
type probe struct {
	policy string
	kind   string
	object client.Object
}

// valuesSuffix is of the ConfigMaps that Writes lets through, so that the answer is that of ConfigMaps.
const valuesSuffix = "-cluster-values"

// Check returns an error unless the policies hold for who we are: it tries, as dry runs, to create a foreign Secret
// and ConfigMap in our own namespace and in the default one, and a foreign Lease in our own, and must be refused by them.
func Check(ctx context.Context, c client.Client, policies Policies, namespace string) error {
	probes := policies.probes(namespace)
	return await(ctx, func(ctx context.Context) ([]string, error) { return tryOut(ctx, c, probes) })
}

// await tries until all policies refuse, and no longer than the API server may take to notice a new one.
func await(ctx context.Context, try func(context.Context) (missing []string, answers error)) error {
	var missing []string
	var last error
	err := wait.PollUntilContextTimeout(ctx, time.Second, timeout, true, func(ctx context.Context) (bool, error) {
		failed, answers := try(ctx)
		if ctx.Err() == nil || last == nil { // of a round that the time cut off, the one before says more
			missing, last = failed, answers
		}
		return answers == nil, nil
	})
	if err != nil {
		return fmt.Errorf("refusing to run without the admission policy %s: %w", strings.Join(slices.Compact(missing), " and "), errors.Join(last, ctx.Err()))
	}
	return nil
}

// tryOut returns the policies that did not refuse, and the answers instead.
func tryOut(ctx context.Context, c client.Client, probes []probe) (missing []string, answers error) {
	for _, p := range probes {
		if err := p.tryOut(ctx, c); err != nil {
			missing, answers = append(missing, p.policy), errors.Join(answers, err)
		}
	}
	return missing, answers
}

func (p Policies) probes(namespace string) []probe {
	meta := func(namespace string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: namespace, Name: "fairlead-cage-probe"}
	}
	probes := []probe{
		{p.Secrets, "Secret", &corev1.Secret{ObjectMeta: meta(namespace)}},
		{p.Secrets, "Secret", &corev1.Secret{ObjectMeta: meta(metav1.NamespaceDefault)}},
	}
	if p.ConfigMaps != "" {
		for _, namespace := range []string{namespace, metav1.NamespaceDefault} {
			foreign := &corev1.ConfigMap{ObjectMeta: meta(namespace)}
			foreign.Name += valuesSuffix
			probes = append(probes, probe{p.ConfigMaps, "ConfigMap", foreign})
		}
	}
	if p.Writes != "" {
		probes = append(probes, probe{p.Writes, "Lease", &coordinationv1.Lease{ObjectMeta: meta(namespace)}})
	}
	return probes
}

func (p probe) tryOut(ctx context.Context, c client.Client) error {
	err := apply.Create(ctx, c, p.object.DeepCopyObject().(client.Object), client.DryRunAll) // the answer goes into what is sent
	what := fmt.Sprintf("%s in namespace %s", p.kind, p.object.GetNamespace())
	switch err := refusal(err, p.policy); {
	case errors.Is(err, ErrOpen):
		return fmt.Errorf("nothing would keep it from creating a foreign %s", what)
	case err != nil:
		return fmt.Errorf("trying it out with a %s: %w", what, err)
	}
	return nil
}

// ErrOpen says that no policy refused a probe.
var ErrOpen = errors.New("no policy refuses it")

// CheckPatch tries, as a dry run, to annotate an object that exists, and must be refused by the policy. Other errors are
// the API server's.
func CheckPatch(ctx context.Context, c client.Client, object client.Object, policy string) error {
	patch := map[string]any{"metadata": map[string]any{"annotations": map[string]any{"fairlead.io/cage-probe": "true"}}}
	return refusal(apply.Merge(ctx, c, object, patch, client.DryRunAll), policy)
}

// AwaitPatch is CheckPatch as Check is: it gives the API server time to notice a new policy.
func AwaitPatch(ctx context.Context, c client.Client, object client.Object, policy string) error {
	return await(ctx, func(ctx context.Context) ([]string, error) {
		return []string{policy}, CheckPatch(ctx, c, object, policy)
	})
}

// CheckStatus tries, as a dry run, to change a field of the status of an object that exists, and must be refused by the policy.
// Other errors are the API server's.
func CheckStatus(ctx context.Context, c client.Client, object client.Object, field, policy string) error {
	return refusal(apply.TryStatus(ctx, c, object, map[string]any{field: "cage-probe"}), policy)
}

// refusal is nil if the answer to a probe is the policy's.
func refusal(answer error, policy string) error {
	switch {
	case answer == nil:
		return ErrOpen
	case apierrors.IsForbidden(answer) && strings.Contains(answer.Error(), policy):
		return nil
	}
	return answer
}
