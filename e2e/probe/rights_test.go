package probe_test

import (
	"testing"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/policies"
	"github.com/fairlead-io/fairlead/e2e/rights"
	"github.com/fairlead-io/fairlead/e2e/rights/rightstest"
)

// everywhere is what RBAC lets its token do, with relays and probe.discover.
var everywhere = rights.Table{
	"nodes": "list watch",
	"pods":  "list",
}

// atHome is what it may do in its own namespace besides. It writes into one ConfigMap, so that there is nothing for a cage to
// hold back.
var atHome = rights.Table{
	"configmaps " + name: "get update",
	"pods":               "list watch",
}

// checkRights: a stolen token can do what is listed, and the probe has used all of it and missed nothing.
func (c *cluster) checkRights(t *testing.T) {
	t.Helper()
	all := rights.Union(everywhere, atHome)
	rightstest.May(t, c.cp, c.probe.Config, all, map[string]rights.Table{"default": everywhere, policies.Namespace: all})
	rightstest.UsesAll(t, c.cp, controlplane.ServiceAccountUser(policies.Namespace, name), all)
}
