package controller

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/internal/write/cage"
)

// CheckCage returns an error unless the policies that keep the operator's writes to its own Secrets and ConfigMaps
// (config/rbac/admission_policy.yaml, configmap_policy.yaml) and to what else it is there for (writes_policy.yaml)
// hold for who we are.
func CheckCage(ctx context.Context, c client.Client, namespace string) error {
	return cage.Check(ctx, c, cage.Policies{
		Secrets: "fairlead-operator-secrets", ConfigMaps: "fairlead-operator-configmaps", Writes: "fairlead-operator-writes",
	}, namespace)
}
