package controller

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/operator/noproxy"
	"github.com/fairlead-io/fairlead/operator/resolve"
)

// describe puts an effective configuration into the status of the report,
// without anything that a report's reader must not see: URLs stay out.
func describe(status *v1alpha1.ProxyReportStatus, e resolve.Effective) {
	status.Mode, status.ProxyName, status.Form = string(e.Mode), e.Proxy, string(e.Form)
	status.NoProxy = describeList(e.NoProxy)
	status.Entries, status.EntryCounts = describeEntries(e.NoProxy)
}

func describeList(list noproxy.List) v1alpha1.ReportedNoProxy {
	if len(list) == 0 {
		return v1alpha1.ReportedNoProxy{}
	}
	text := list.String()
	digest := sha256.Sum256([]byte(text))
	described := v1alpha1.ReportedNoProxy{Entries: int32(len(list)), Digest: hex.EncodeToString(digest[:])}
	if len(text) <= maxReportedBytes {
		described.Any, described.Go = text, text
	}
	return described
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
