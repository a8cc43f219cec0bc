// Package probe tries what a cluster must reach, and what not: from its own place, and through the relay of every node.
// It opens the connections; what was seen is judged by package internal/core/probe.
package probe

import (
	"context"
	"log/slog"
	"time"

	"github.com/fairlead-io/fairlead/internal/core/probe"
)

// CredentialsCounter looks at who has or uses credentials in the cluster. Unseen says in words what it could not look at.
type CredentialsCounter interface {
	Count(ctx context.Context) (seen []probe.CredentialsSeen, unseen []string)
}

// Options are those of the probe in a workload cluster.
type Options struct {
	Namespace      string        // its own: of the relays and the result
	Folder         string        // of the settings
	Targets        string        // file of further targets; empty: none
	Period         time.Duration // between two rounds
	Client         string        // the client of package dialect whose way is tried
	RelaySelector  string        // labels of the relays' pods; empty: no node is tried
	NodeSelector   string        // labels of the nodes that have a relay; empty: all
	Discover       bool          // find registries and hubs of tunnels
	AgentSelectors []string      // with Discover: labels of agents of reverse tunnels
	MetricsAddress string        // host:port, or 0 for none
	HealthAddress  string        // host:port, or 0 for none
	Log            *slog.Logger

	Credentials CredentialsCounter // nil: nobody counts
}
