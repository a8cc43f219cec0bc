package controller

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

// cage is the ValidatingAdmissionPolicy that keeps the operator's writes to its
// own Secrets (config/rbac/admission_policy.yaml).
const cage = "fairlead-operator-secrets"

// cageTimeout is longer than the API server takes to notice a new policy.
const cageTimeout = 10 * time.Second

// CheckCage returns an error unless the admission policy holds for who we are:
// it tries, as a dry run, to create Secrets that are not of the contract. RBAC
// alone would let the operator write any Secret, so it must not run like that.
func CheckCage(ctx context.Context, c client.Client, namespace string) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, time.Second, cageTimeout, true, func(ctx context.Context) (bool, error) {
		last = errors.Join(tryOut(ctx, c, namespace), tryOut(ctx, c, metav1.NamespaceDefault))
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("refusing to run without the admission policy %s: %w", cage, errors.Join(last, ctx.Err()))
	}
	return nil
}

func tryOut(ctx context.Context, c client.Client, namespace string) error {
	probe := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "fairlead-cage-probe"}}
	err := c.Create(ctx, probe, client.DryRunAll)
	switch {
	case err == nil:
		return fmt.Errorf("nothing would keep it from creating a foreign Secret in namespace %s", namespace)
	case apierrors.IsForbidden(err) && strings.Contains(err.Error(), cage):
		return nil
	}
	return fmt.Errorf("trying it out in namespace %s: %w", namespace, err)
}
