package controller

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

// arrival is how long a report may be there before its Cluster.
const arrival = 10 * time.Minute

// arrivals are the reports that this process saw without their Cluster.
type arrivals struct{ sightings[types.UID] }

// expected returns how long to wait for the Cluster of a report that came without
// status: clusterctl move and restores of backups create both in any order, and
// drop what a report has seen elsewhere. The Secrets that came, too, would go with
// the report.
func (a *arrivals) expected(report *v1alpha1.ProxyReport, now time.Time) time.Duration {
	if report == nil || report.DeletionTimestamp != nil || report.Status.Cluster.UID != "" {
		return 0
	}
	return a.left(report.UID, arrival, now)
}

// came ends the wait for the Cluster of a report.
func (a *arrivals) came(report *v1alpha1.ProxyReport) {
	if report != nil {
		a.forget(report.UID)
	}
}
