// Package replicator runs the real replicator as charts/fairlead-policies, rendered by the real Helm, deploys it.
package replicator

import (
	"context"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/deployment"
	"github.com/fairlead-io/fairlead/e2e/policies"
)

// Name is the name of the replicator's Deployment, service account, role and lease.
const Name = "fairlead-replicator"

// User is the replicator's user name to the API server.
var User = controlplane.ServiceAccountUser(policies.Namespace, Name)

// Replicator is one running replica.
type Replicator = deployment.Replica

// Start starts a replica of the Deployment that is installed, with arguments added, and returns when it is ready.
func Start(ctx context.Context, cp *controlplane.ControlPlane, args ...string) (*Replicator, error) {
	return deployment.Start(ctx, cp, policies.Namespace, Name, args...)
}
