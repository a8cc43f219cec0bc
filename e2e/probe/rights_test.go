package probe_test

import (
	"testing"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/policies"
	"github.com/fairlead-io/fairlead/e2e/rights"
	"github.com/fairlead-io/fairlead/e2e/rights/rightstest"
)

// everywhere has the rights of the probe's token by RBAC, with relays and probe.discover.
var everywhere = rights.Table{
	"nodes": "list watch",
	"pods":  "list",
}

// atHome has its further rights in its own namespace. It writes into one ConfigMap, so no admission policy has to
// restrict it.
var atHome = rights.Table{
	"configmaps " + name: "get update",
	"pods":               "list watch",
}

// checkRights checks that a stolen token has the listed rights, and that the probe has used each of them and missed
// none.
func (c *cluster) checkRights(t *testing.T) {
	t.Helper()
	all := rights.Union(everywhere, atHome)
	rightstest.May(t, c.cp, c.probe.Config, all, map[string]rights.Table{"default": everywhere, policies.Namespace: all})
	rightstest.UsesAll(t, c.cp, controlplane.ServiceAccountUser(policies.Namespace, name), all)
}
