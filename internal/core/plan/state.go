// Package plan compares two states of a fleet: what a change writes for each cluster, which clients then decide
// differently, and what it costs.
//
// No credentials are compared, and none come out of it: of URLs it knows scheme, host and port, and of Secrets the names.
package plan

import "github.com/fairlead-io/fairlead/internal/core/resolve"

// State is a fleet at one time.
type State struct {
	Clusters []Cluster
	Rollouts []Rollout // of the CorporateProxies that have one
	Notes    []string  // what is not known, for people
	Unknown  []string  // of the state after: what was given and cannot be compared
}

// Cluster is one cluster in a state.
type Cluster struct {
	Namespace, Name string
	Effective       resolve.Effective
	Problem         *resolve.Problem // why nothing is written: the Secrets stay as they are
	Unread          Unread
	Machines        *Machines // nil: nobody has counted them
	Paused          bool      // nothing is written while the Cluster is
	Wave            string    // of its CorporateProxy's rollout; empty: in none
}

// Name is namespace and name.
func (c Cluster) name() string { return c.Namespace + "/" + c.Name }

// Unread names what a cluster's settings are made from and what is compared by name alone.
type Unread struct {
	Credentials string // such as "Secret proxy-credentials"; empty: there are none
	Previous    string // object with the previous credentials
	TrustedCA   string // such as "Secret corp-ca"; empty: there is none, or its content is compared
}

// Machines are the machines of a cluster, as its report counts them.
type Machines struct{ Machines, MachinePools int }

// Rollout is the order in which clusters of a CorporateProxy are changed.
type Rollout struct {
	Proxy  string
	Waves  []string // names
	Paused bool
	// Invalid says what is wrong with spec.rollout; empty: nothing.
	Invalid string
}
