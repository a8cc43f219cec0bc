package controller

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/operator/internal/cage"
)

// CheckCage returns an error unless the policy that keeps the operator's writes to its own Secrets
// (config/rbac/admission_policy.yaml) holds for who we are.
func CheckCage(ctx context.Context, c client.Client, namespace string) error {
	return cage.Check(ctx, c, "fairlead-operator-secrets", namespace)
}
