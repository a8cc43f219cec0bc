package decide

import (
	"cmp"
	"slices"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/render"
	"github.com/fairlead-io/fairlead/internal/write/apply"
)

// changed reports whether the content to write differs from the one written last.
func changed(last v1alpha1.SecretRecord, fingerprint string) bool {
	return last.UID == "" || last.HMAC != fingerprint
}

// distrust removes the recorded digests from a status: the Secrets may differ, and cannot be applied again for now.
func distrust(status *v1alpha1.ProxyReportStatus) {
	for i := range status.Secrets {
		status.Secrets[i].HMAC = ""
	}
	if status.ConfigMap != nil {
		status.ConfigMap.HMAC = ""
	}
}

// nextRecord returns the record after the API server's answer. If the content is the same as before, and writing it
// changed something, somebody had undone it. The exception is a change of the owners, which we or the garbage
// collector make.
func nextRecord(last v1alpha1.SecretRecord, object target, fingerprint string, w apply.Answer) v1alpha1.SecretRecord {
	record := v1alpha1.SecretRecord{
		Role: object.Role, Name: object.GetName(), UID: w.UID, HMAC: fingerprint, Written: &w.At,
		OwnedByCluster: object.shared, Reverts: last.Reverts, Rival: last.Rival,
	}
	ownersChanged := last.UID == w.UID && w.Rival == "" && (last.OwnedByCluster != object.shared || object.excused)
	if changed(last, fingerprint) || ownersChanged {
		return record
	}
	if last.UID == w.UID && last.Written != nil && last.Written.Equal(&w.At) {
		record.Reverts, record.Rival = 0, ""
		return record
	}
	record.Reverts, record.Rival = last.Reverts+1, w.Rival
	return record
}

// unchanged returns what the API server would answer if nothing were sent.
func unchanged(last v1alpha1.SecretRecord) apply.Answer {
	w := apply.Answer{UID: last.UID}
	if last.Written != nil {
		w.At = *last.Written
	}
	return w
}

// records returns the records of the Secrets and of the ConfigMap.
func records(status v1alpha1.ProxyReportStatus) []v1alpha1.SecretRecord {
	if status.ConfigMap == nil {
		return status.Secrets
	}
	return slices.Concat(status.Secrets, []v1alpha1.SecretRecord{*status.ConfigMap})
}

// RecordOf returns what a status records of the object in a role.
func RecordOf(status v1alpha1.ProxyReportStatus, role string) v1alpha1.SecretRecord {
	for _, record := range records(status) {
		if record.Role == role {
			return record
		}
	}
	return v1alpha1.SecretRecord{}
}

func setRecord(status *v1alpha1.ProxyReportStatus, record v1alpha1.SecretRecord) {
	if record.Role == render.ConfigMapRole {
		status.ConfigMap = &record
		return
	}
	dropRecord(status, record.Role)
	status.Secrets = append(status.Secrets, record)
	slices.SortFunc(status.Secrets, func(a, b v1alpha1.SecretRecord) int { return cmp.Compare(a.Role, b.Role) })
}

func dropRecord(status *v1alpha1.ProxyReportStatus, role string) {
	if role == render.ConfigMapRole {
		status.ConfigMap = nil
		return
	}
	status.Secrets = slices.DeleteFunc(status.Secrets, func(r v1alpha1.SecretRecord) bool { return r.Role == role })
}

// MostReverts returns how often in a row one of the objects was reverted.
func MostReverts(status v1alpha1.ProxyReportStatus) int32 {
	var most int32
	for _, record := range records(status) {
		most = max(most, record.Reverts)
	}
	return most
}
