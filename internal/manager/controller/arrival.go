package controller

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

// arrival is how long a report may be there before its Cluster.
const arrival = 10 * time.Minute

// arrivals remembers when this process first saw a report without its Cluster.
// Its creationTimestamp is by the clock of the API server, which may be minutes
// off this one.
type arrivals struct {
	mu    sync.Mutex
	since map[types.UID]time.Time
}

// expected returns how long to wait for the Cluster of a report that came without
// status: clusterctl move and restores of backups create both in any order, and
// drop what a report has seen elsewhere. The Secrets that came, too, would go with
// the report.
func (a *arrivals) expected(report *v1alpha1.ProxyReport, now time.Time) time.Duration {
	if report == nil || report.DeletionTimestamp != nil || report.Status.Cluster.UID != "" {
		return 0
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	since, known := a.since[report.UID]
	if !known {
		if a.since == nil {
			a.since = map[types.UID]time.Time{}
		}
		since, a.since[report.UID] = now, now
	}
	return arrival - now.Sub(since)
}

// forget ends the wait for the Cluster of a report.
func (a *arrivals) forget(report *v1alpha1.ProxyReport) {
	if report == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.since, report.UID)
}
