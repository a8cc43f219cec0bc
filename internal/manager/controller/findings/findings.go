// Package findings runs lint on lists, and writes the findings in the form of statuses.
package findings

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"runtime"
	"slices"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/lint"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/internal/manager/controller/machinery"
	"github.com/fairlead-io/fairlead/internal/manager/intern"
	"github.com/fairlead-io/fairlead/noproxy"
)

// The bounds of findings in a status, equal to those in the CRDs' schemas.
const (
	maxFindings       = 20
	maxFindingEntries = 4
)

// Of puts what lint found into a status, in short and the worst first.
func Of(found []lint.Finding) []v1alpha1.ReportedFinding {
	var reported []v1alpha1.ReportedFinding
	for _, f := range found[:min(len(found), maxFindings)] {
		short := v1alpha1.ReportedFinding{Code: string(f.Code), Severity: string(f.Severity), Message: machinery.Shorten(f.Why)}
		for _, entry := range f.Entries[:min(len(f.Entries), maxFindingEntries)] {
			short.Entries = append(short.Entries, entry.Value)
		}
		if n := len(f.Clients); n > 0 {
			short.Message += fmt.Sprintf(" (%d: %s, …)", n, f.Clients[0])
		}
		reported = append(reported, short)
	}
	return reported
}

// OfCluster is about the list of a cluster.
func OfCluster(e resolve.Effective, cluster resolve.Cluster, of ListFindings) []v1alpha1.ReportedFinding {
	in := lint.Effective(e, cluster)
	in.Today = true
	list := of(in)
	found := slices.Concat(list.structure, Of(lint.Proxy(in)), list.portability)
	slices.SortStableFunc(found, func(a, b v1alpha1.ReportedFinding) int {
		return lint.Compare(lint.Severity(a.Severity), lint.Severity(b.Severity))
	})
	return found[:min(len(found), maxFindings)]
}

// List has the findings about a list, whatever the proxy is. The proxy's findings go between its two parts.
type List struct {
	Digest                 uint64
	structure, portability []v1alpha1.ReportedFinding
}

// ListFindings returns the findings about a list.
type ListFindings func(lint.Input) List

var lintSeed = maphash.MakeSeed()

// Digest returns a hash of everything that the findings about a list depend on.
func Digest(in lint.Input) uint64 {
	return maphash.String(lintSeed, fmt.Sprintln(in.Any, in.Entries.String(), in.Omitted.String(), in.Left.String(), in.Facts, in.API, *in.Cluster))
}

// processors bounds how many lists are looked at side by side: one of 4,000 entries takes 60 MiB, and workers that wait
// for the API server are more than processors.
var processors = make(chan struct{}, runtime.GOMAXPROCS(0))

// OfList returns the findings about a list.
func OfList(in lint.Input) List {
	processors <- struct{}{}
	defer func() { <-processors }()
	return List{structure: Shared(Of(lint.Structure(in))), portability: Shared(Of(lint.Portability(in)))}
}

var findingsOnce = intern.Map[string, []v1alpha1.ReportedFinding]{Most: 1000}

// Shared are the same slice for all clusters in which the same was found: most of them. Nobody may change it.
func Shared(found []v1alpha1.ReportedFinding) []v1alpha1.ReportedFinding {
	if len(found) == 0 {
		return nil
	}
	return findingsOnce.Get(fmt.Sprintf("%q", found), func() []v1alpha1.ReportedFinding { return slices.Clone(found) })
}

// OfInstallation is about what an installation lists itself, whatever the cluster.
func OfInstallation(i resolve.Installation) []v1alpha1.ReportedFinding {
	form := cmp.Or(i.Form, resolve.DefaultForm)
	writing := noproxy.Writing{Written: i.NoProxy}
	if form != resolve.FormExact {
		writing = noproxy.Write(i.NoProxy, noproxy.AudienceAny, form.Version())
	}
	return Of(lint.Run(lint.Input{
		Today: true, Entries: i.NoProxy, Any: writing.Written.String(), Omitted: writing.Omitted, Left: writing.Left,
		HTTP: i.HTTP, HTTPS: i.HTTPS, Form: form,
	}))
}
