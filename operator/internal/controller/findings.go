package controller

import (
	"fmt"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/operator/lint"
	"github.com/fairlead-io/fairlead/operator/noproxy"
	"github.com/fairlead-io/fairlead/operator/resolve"
)

// The bounds of findings in a status, which are those of the CRDs' schemas.
const (
	maxFindings       = 20
	maxFindingEntries = 4
)

// findings puts what lint found into a status, in short and the worst first.
func findings(found []lint.Finding) []v1alpha1.ReportedFinding {
	var reported []v1alpha1.ReportedFinding
	for _, f := range found[:min(len(found), maxFindings)] {
		short := v1alpha1.ReportedFinding{Code: string(f.Code), Severity: string(f.Severity), Message: shorten(f.Why)}
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

// clusterFindings is about the list of a cluster.
func clusterFindings(e resolve.Effective, cluster resolve.Cluster) []v1alpha1.ReportedFinding {
	in := lint.Effective(e, cluster)
	in.Today = true
	return findings(lint.Run(in))
}

// installationFindings is about what an installation lists itself, whatever the cluster.
func installationFindings(i resolve.Installation) []v1alpha1.ReportedFinding {
	written, omitted := i.NoProxy, noproxy.List(nil)
	if i.Form != resolve.FormExact {
		written, omitted = noproxy.Portable(i.NoProxy, noproxy.AudienceAny)
	}
	return findings(lint.Run(lint.Input{Today: true, Entries: i.NoProxy, Any: written.String(), Omitted: omitted, HTTP: i.HTTP, HTTPS: i.HTTPS}))
}
