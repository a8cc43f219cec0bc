package replicator

import (
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
)

// ownCache is one beside the manager's. It runs on a standby, too: what a controller of a standby awaits in vain ends it.
type ownCache struct{ cache.Cache }

// NeedLeaderElection is false: a manager would take it for work of the leader (manager.LeaderElectionRunnable).
func (ownCache) NeedLeaderElection() bool { return false }

func newCache(config *rest.Config, options cache.Options) (cache.Cache, error) {
	made, err := cache.New(config, options)
	if err != nil {
		return nil, err
	}
	return ownCache{made}, nil
}
