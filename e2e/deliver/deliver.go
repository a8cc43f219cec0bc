// Package deliver runs "fairlead-operator deliver" on a control plane with the core controllers of Cluster API, under exactly the
// permissions that config/deliver ships. The workload cluster is a real API server of its own.
package deliver

import (
	"context"

	"github.com/fairlead-io/fairlead/config"
	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/deployment"
	"github.com/fairlead-io/fairlead/e2e/operator"
)

// ServiceAccount is the service account of deliver, in the operator's namespace.
const ServiceAccount = "fairlead-deliver"

// Policy is its cage.
const Policy = "fairlead-deliver-writes"

// User is deliver's user name to the API server.
var User = controlplane.ServiceAccountUser(operator.Namespace, ServiceAccount)

// Install installs its permissions beside those of the operator.
func Install(ctx context.Context, cp *controlplane.ControlPlane) error {
	if err := operator.Install(ctx, cp); err != nil {
		return err
	}
	return cp.ApplyFS(ctx, config.Deliver)
}

// Start starts it, and returns when it is ready.
func Start(ctx context.Context, cp *controlplane.ControlPlane, args ...string) (*deployment.Replica, error) {
	return deployment.Run(ctx, cp, deployment.Spec{
		Namespace: operator.Namespace, ServiceAccount: ServiceAccount,
		Command: append([]string{"fairlead-operator", "deliver", "--log-level=debug", "--namespace", operator.Namespace}, args...),
	})
}
