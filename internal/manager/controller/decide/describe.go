package decide

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/noproxy"
)

// describe puts an effective configuration into the status of the report,
// without anything that a report's reader must not see: URLs stay out.
func describe(status *v1alpha1.ProxyReportStatus, e resolve.Effective) {
	status.Mode, status.ProxyName, status.Form = string(e.Mode), e.Proxy, string(e.Form)
	status.NoProxy = describeLists(e.NoProxy)
	status.Entries, status.EntryCounts = describeEntries(e.Entries)
}

func describeLists(lists noproxy.Lists) v1alpha1.ReportedNoProxy {
	if len(lists.Go) == 0 {
		return v1alpha1.ReportedNoProxy{}
	}
	digest := sha256.Sum256([]byte(lists.Go.String()))
	return v1alpha1.ReportedNoProxy{
		Any: reportable(lists.Any), Go: reportable(lists.Go),
		Entries: int32(len(lists.Go)), Digest: hex.EncodeToString(digest[:]),
	}
}

// reportable leaves a list out that would make the report unwieldy.
func reportable(list noproxy.List) string {
	if text := list.String(); len(text) <= maxReportedBytes {
		return text
	}
	return ""
}

func describeEntries(list noproxy.List) ([]v1alpha1.ReportedEntry, map[string]int32) {
	var entries []v1alpha1.ReportedEntry
	var counts map[string]int32
	for _, item := range list {
		if counts == nil {
			counts = map[string]int32{}
		}
		source := item.Sources[0]
		counts[string(source.Layer)]++
		if source.Layer == noproxy.LayerInstallation || len(entries) == maxEntries {
			continue
		}
		entries = append(entries, v1alpha1.ReportedEntry{Value: item.Entry.String(), Source: string(source.Layer), Field: source.Field})
	}
	return entries, counts
}
