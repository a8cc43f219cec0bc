package controller

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

// writtenReports holds each report as the operator last wrote it, until the cache has that, too. The report is the
// operator's memory: a reconcile that does not see what the last one recorded would forget it.
type writtenReports struct {
	mu sync.Mutex
	by map[types.NamespacedName]writtenReport
}

type writtenReport struct {
	report *v1alpha1.ProxyReport
	at     time.Time
}

// laggard is how long a cache may be behind. After that it is believed, since an etcd that was restored from a backup
// gives out lower resource versions than before.
const laggard = time.Minute

// put keeps a report, with the resource version that the API server answered.
func (w *writtenReports) put(key types.NamespacedName, report *v1alpha1.ProxyReport) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.by == nil {
		w.by = map[types.NamespacedName]writtenReport{}
	}
	w.by[key] = writtenReport{report, time.Now()}
}

// latest returns the newer one of what is kept and what the cache has, which may be nil.
func (w *writtenReports) latest(key types.NamespacedName, cached *v1alpha1.ProxyReport) *v1alpha1.ProxyReport {
	w.mu.Lock()
	defer w.mu.Unlock()
	kept, is := w.by[key]
	if !is {
		return cached
	}
	if time.Since(kept.at) > laggard || cached != nil && !older(cached.ResourceVersion, kept.report.ResourceVersion) {
		delete(w.by, key)
		return cached
	}
	return kept.report
}

// forget is for a report that is gone.
func (w *writtenReports) forget(key types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.by, key)
}

func older(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order < 0
}
