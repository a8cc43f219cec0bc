package decide

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/render"
	"github.com/fairlead-io/fairlead/internal/write/apply"
)

func TestNextRecordTellsUndoingFromChange(t *testing.T) {
	then, now := metav1.Unix(1000, 0), metav1.Unix(2000, 0)
	known := v1alpha1.SecretRecord{Role: "r", Name: "n", UID: "u", HMAC: "h", Written: &then}
	reverted := known
	reverted.Reverts, reverted.Rival = 1, "rival"
	for name, tc := range map[string]struct {
		last    v1alpha1.SecretRecord
		hmac    string
		written apply.Answer
		reverts int32
		rival   string
	}{
		"the first write":                       {v1alpha1.SecretRecord{}, "h", apply.Answer{UID: "u", At: now}, 0, ""},
		"new content":                           {known, "h2", apply.Answer{UID: "u", At: now}, 0, ""},
		"nothing had to change":                 {known, "h", apply.Answer{UID: "u", At: then}, 0, ""},
		"our fields had to be set again":        {known, "h", apply.Answer{UID: "u", At: now, Rival: "x"}, 1, "x"},
		"it had to be created again":            {known, "h", apply.Answer{UID: "u2", At: then}, 1, ""},
		"undone for the second time":            {reverted, "h", apply.Answer{UID: "u", At: now, Rival: "x"}, 2, "x"},
		"left alone after having been undone":   {reverted, "h", apply.Answer{UID: "u", At: then}, 0, ""},
		"new content does not end a contention": {reverted, "h2", apply.Answer{UID: "u", At: now}, 1, "rival"},
	} {
		t.Run(name, func(t *testing.T) {
			got := nextRecord(tc.last, aTarget("r", "n"), tc.hmac, tc.written)
			want := v1alpha1.SecretRecord{
				Role: "r", Name: "n", UID: tc.written.UID, HMAC: tc.hmac, Written: &tc.written.At,
				Reverts: tc.reverts, Rival: tc.rival,
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The first apply after an upgrade changes the owners; so does the garbage collector, when somebody deletes the report.
func TestAChangeOfTheOwnersIsNobodysRevert(t *testing.T) {
	then, now := metav1.Unix(1000, 0), metav1.Unix(2000, 0)
	last := v1alpha1.SecretRecord{Role: "r", Name: "n", UID: "u", HMAC: "h", Written: &then}
	for name, tc := range map[string]struct {
		change  func(*target)
		written apply.Answer
		reverts int32
	}{
		"the Cluster becomes an owner":            {func(o *target) { o.shared = true }, apply.Answer{UID: "u", At: now}, 0},
		"the report was deleted":                  {func(o *target) { o.excused = true }, apply.Answer{UID: "u", At: now}, 0},
		"the Secret went with the report":         {func(o *target) { o.excused = true }, apply.Answer{UID: "u2", At: now}, 1},
		"a rival at the same time":                {func(o *target) { o.shared = true }, apply.Answer{UID: "u", At: now, Rival: "x"}, 1},
		"neither, and it had to be written again": {func(*target) {}, apply.Answer{UID: "u", At: now}, 1},
	} {
		object := aTarget("r", "n")
		tc.change(&object)
		got := nextRecord(last, object, "h", tc.written)
		if got.Reverts != tc.reverts || got.OwnedByCluster != object.shared || got.UID != tc.written.UID {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestTheConfigMapsRecordStandsBesideThoseOfTheSecrets(t *testing.T) {
	var status v1alpha1.ProxyReportStatus
	setRecord(&status, v1alpha1.SecretRecord{Role: render.ValuesRole, Name: "c1-cluster-values", Reverts: 1})
	setRecord(&status, v1alpha1.SecretRecord{Role: render.ConfigMapRole, Name: "c1-cluster-values", Reverts: 2})
	if len(status.Secrets) != 1 || status.ConfigMap == nil || RecordOf(status, render.ConfigMapRole).Reverts != 2 || MostReverts(status) != 2 {
		t.Errorf("%+v", status)
	}
	if message := rivalMessage(status); !strings.HasPrefix(message, "ConfigMap c1-cluster-values: somebody undid") {
		t.Error(message)
	}
	dropRecord(&status, render.ConfigMapRole)
	if len(status.Secrets) != 1 || status.ConfigMap != nil {
		t.Errorf("%+v", status)
	}
}
