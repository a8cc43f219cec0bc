// Package cage makes sure, at the start of a program, that an admission policy keeps its writes of Secrets to
// those it is there for. RBAC alone would let it create any Secret.
package cage

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// timeout is longer than the API server takes to notice a new policy.
const timeout = 10 * time.Second

// Check returns an error unless the ValidatingAdmissionPolicy holds for who we are: it tries, as dry runs, to
// create a foreign Secret in our own namespace and in the default one, and must be refused by that policy.
func Check(ctx context.Context, c client.Client, policy, namespace string) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, time.Second, timeout, true, func(ctx context.Context) (bool, error) {
		last = errors.Join(tryOut(ctx, c, policy, namespace), tryOut(ctx, c, policy, metav1.NamespaceDefault))
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("refusing to run without the admission policy %s: %w", policy, errors.Join(last, ctx.Err()))
	}
	return nil
}

func tryOut(ctx context.Context, c client.Client, policy, namespace string) error {
	probe := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "fairlead-cage-probe"}}
	err := c.Create(ctx, probe, client.DryRunAll)
	switch {
	case err == nil:
		return fmt.Errorf("nothing would keep it from creating a foreign Secret in namespace %s", namespace)
	case apierrors.IsForbidden(err) && strings.Contains(err.Error(), policy):
		return nil
	}
	return fmt.Errorf("trying it out in namespace %s: %w", namespace, err)
}
