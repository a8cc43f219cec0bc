package rollout

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/revision"
)

func number(n int32) *intstr.IntOrString { v := intstr.FromInt32(n); return &v }

func TestAPolicyThatCannotBeFollowedIsRefusedByTheNameOfTheField(t *testing.T) {
	percent := func(text string) v1alpha1.Wave {
		v := intstr.FromString(text)
		return v1alpha1.Wave{Name: "w", MaxParallel: &v}
	}
	selecting := func(operator, value string) v1alpha1.Wave {
		return v1alpha1.Wave{Name: "w", ClusterSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: "stage", Operator: metav1.LabelSelectorOperator(operator), Values: []string{value}},
		}}}
	}
	for name, test := range map[string]struct {
		waves []v1alpha1.Wave
		want  string
	}{
		"0%":                  {[]v1alpha1.Wave{percent("0%")}, `spec.rollout.waves[0] (w).maxParallel: "0%" is not a percentage`},
		"101%":                {[]v1alpha1.Wave{percent("101%")}, `"101%" is not`},
		"-1%":                 {[]v1alpha1.Wave{percent("-1%")}, `"-1%" is not`},
		"+5%":                 {[]v1alpha1.Wave{percent("+5%")}, `"+5%" is not`},
		"05%":                 {[]v1alpha1.Wave{percent("05%")}, `"05%" is not`},
		"1.5%":                {[]v1alpha1.Wave{percent("1.5%")}, `is not`},
		"5":                   {[]v1alpha1.Wave{percent("5")}, `"5" is not`},
		"nothing":             {[]v1alpha1.Wave{percent("")}, `"" is not`},
		"0":                   {[]v1alpha1.Wave{{Name: "w", MaxParallel: number(0)}}, "maxParallel: 0 is not a number of clusters from 1"},
		"-1":                  {[]v1alpha1.Wave{{Name: "w", MaxParallel: number(-1)}}, "maxParallel: -1"},
		"an unknown operator": {[]v1alpha1.Wave{{Name: "a"}, selecting("Like", "x")}, "spec.rollout.waves[1] (w).clusterSelector: "},
		"a value for Exists":  {[]v1alpha1.Wave{selecting("Exists", "x")}, "clusterSelector: "},
		"a bad value":         {[]v1alpha1.Wave{selecting("In", "not a label")}, "clusterSelector: "},
		"a negative soak":     {[]v1alpha1.Wave{{Name: "w", Soak: &metav1.Duration{Duration: -time.Second}}}, "soak: -1s is negative"},
		"no time":             {[]v1alpha1.Wave{{Name: "w", ProgressDeadline: &metav1.Duration{}}}, "progressDeadline: 0s"},
		"no name":             {[]v1alpha1.Wave{{}}, "waves[0] ().name: is empty"},
		"the same name":       {[]v1alpha1.Wave{{Name: "w"}, {Name: "w"}}, "waves[1] (w).name: an earlier wave has it"},
	} {
		if _, err := ParsePolicy(v1alpha1.Rollout{Waves: test.waves}); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
	if _, err := ParsePolicy(v1alpha1.Rollout{HaltOn: v1alpha1.HaltOn{FailedClusters: -1}}); err == nil || !strings.Contains(err.Error(), "haltOn.failedClusters: -1") {
		t.Errorf("%v", err)
	}
}

func TestMaxParallelIsAtLeastOneCluster(t *testing.T) {
	for _, test := range []struct {
		limit    string
		clusters int
		want     int
	}{
		{"10%", 3, 1},
		{"10%", 0, 1},
		{"10%", 10, 1},
		{"10%", 11, 2},
		{"34%", 3, 2},
		{"100%", 7, 7},
		{"1%", 10_000, 100},
		{"5", 3, 5},
		{"", 7, 7},
		{"", 0, 1},
	} {
		var limit *intstr.IntOrString
		if test.limit != "" {
			v := intstr.Parse(test.limit)
			limit = &v
		}
		if got, err := places(limit, test.clusters); err != nil || got != test.want {
			t.Errorf("%q of %d: %d (%v), want %d", test.limit, test.clusters, got, err, test.want)
		}
	}
}

func TestAClusterIsInTheFirstWaveThatSelectsIt(t *testing.T) {
	wave := func(name, value string) v1alpha1.Wave {
		if value == "" {
			return v1alpha1.Wave{Name: name, ClusterSelector: &metav1.LabelSelector{}}
		}
		return v1alpha1.Wave{Name: name, ClusterSelector: &metav1.LabelSelector{MatchLabels: map[string]string{value: "yes"}}}
	}
	for _, test := range []struct {
		waves, labels, want string
	}{
		{"a b", "a", "a [a]"},
		{"a b", "b", "b [b]"},
		{"a b", "a b", "a [a b]"},
		{"a b", "c", " []"},
		{"a *", "a", "a [a]"},
		{"a *", "c", "* []"},
		{"* a", "a", "* [a]"},
		{"* *2", "a", "* []"},
		{"a * b", "a b", "a [a b]"},
	} {
		var spec v1alpha1.Rollout
		for _, name := range strings.Fields(test.waves) {
			spec.Waves = append(spec.Waves, wave(name, strings.Trim(name, "*2")))
		}
		labels := map[string]string{}
		for _, label := range strings.Fields(test.labels) {
			labels[label] = "yes"
		}
		policy := mustParse(spec)
		_, selecting := policy.waveOf(labels)
		name, ok := policy.WaveOf(labels)
		if got := fmt.Sprint(name, " ", selecting); got != test.want || ok != (name != "") {
			t.Errorf("waves %s, labels %s: %s, want %s", test.waves, test.labels, got, test.want)
		}
	}
	if name, ok := mustParse(v1alpha1.Rollout{}).WaveOf(nil); name != "" || !ok {
		t.Errorf("without waves: %q, %v", name, ok)
	}
}

func TestSeveralWavesThatSelectAClusterAreNamed(t *testing.T) {
	policy := canaryThenRest(func(spec *v1alpha1.Rollout) {
		spec.Waves[1].ClusterSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "stage", Operator: "Exists"}}}
	})
	_, _, messages := decided(Decide(Fleet{Proxy: "corp", Policy: policy, Revisions: revisions("new"), Rows: []Row{clusterAt("canary", 1)}, Now: noon}))
	if want := "WavesOverlap: several waves select a cluster, and the first counts: org/canary (canary, rest)"; !strings.Contains(messages, want) {
		t.Errorf("%s, want %s", messages, want)
	}
}

func TestWhatAReportSaysOfARecord(t *testing.T) {
	record := revision.Record{ReportedRevision: v1alpha1.ReportedRevision{Proxy: "corp", Number: 2, Digest: "d", Override: "o"}, Since: ago(time.Hour)}
	other := record.ReportedRevision
	other.Override = "another"
	condition := func(status metav1.ConditionStatus, reason string, since time.Duration) []metav1.Condition {
		return []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: status, Reason: reason, Message: "why", LastTransitionTime: ago(since)}}
	}
	seen := func(egress string, since time.Duration) *v1alpha1.Observed {
		return &v1alpha1.Observed{Egress: egress, Time: ago(since), Message: "407"}
	}
	const early, late = 2 * time.Hour, time.Minute
	tolerant := record
	tolerant.Tolerated = true
	same := &record.ReportedRevision
	for name, test := range map[string]struct {
		report v1alpha1.ProxyReportStatus
		record *revision.Record
		want   Status
	}{
		"nothing":                               {v1alpha1.ProxyReportStatus{}, &record, Status{Progressing, "its ProxyReport has no status yet", time.Time{}, false, false, false}},
		"no record":                             {v1alpha1.ProxyReportStatus{Conditions: condition("False", "Denied", late)}, nil, Status{Progressing, "", time.Time{}, true, false, false}},
		"Ready with it":                         {v1alpha1.ProxyReportStatus{Conditions: condition("True", "AsExpected", late), Revision: same}, &record, Status{Done, "", ago(late).Time, false, false, false}},
		"Ready since before":                    {v1alpha1.ProxyReportStatus{Conditions: condition("True", "AsExpected", early), Revision: same}, &record, Status{Done, "", ago(time.Hour).Time, false, false, false}},
		"Ready with another override":           {v1alpha1.ProxyReportStatus{Conditions: condition("True", "AsExpected", late), Revision: &other}, &record, Status{Progressing, notWritten, time.Time{}, false, false, false}},
		"Ready with nothing":                    {v1alpha1.ProxyReportStatus{Conditions: condition("True", "AsExpected", late)}, &record, Status{Progressing, notWritten, time.Time{}, false, false, false}},
		"refused":                               {v1alpha1.ProxyReportStatus{Conditions: condition("False", "Denied", late)}, &record, Status{Failed, "Denied: why", ago(late).Time, true, false, false}},
		"refused in the same second":            {v1alpha1.ProxyReportStatus{Conditions: condition("False", "Denied", time.Hour)}, &record, Status{Failed, "Denied: why", ago(time.Hour).Time, true, false, false}},
		"refused already before":                {v1alpha1.ProxyReportStatus{Conditions: condition("False", "Denied", early)}, &record, Status{Progressing, "Denied: why", time.Time{}, true, false, false}},
		"refused already before, and tolerated": {v1alpha1.ProxyReportStatus{Conditions: condition("False", "Denied", early)}, &tolerant, Status{Failed, "Denied: why", ago(time.Hour).Time, true, false, false}},
		"what its owner wrote is invalid":       {v1alpha1.ProxyReportStatus{Conditions: condition("False", "InvalidOverride", late)}, &record, Status{Failed, "InvalidOverride: why", ago(late).Time, true, true, false}},
		"a write failed":                        {v1alpha1.ProxyReportStatus{Conditions: condition("False", v1alpha1.ReasonWriteFailed, late)}, &record, Status{Progressing, "WriteFailed: why", time.Time{}, true, false, false}},
		"paused":                                {v1alpha1.ProxyReportStatus{Conditions: condition("False", v1alpha1.ReasonPaused, late)}, &record, Status{Progressing, "Paused: why", time.Time{}, true, false, false}},
		"no endpoint":                           {v1alpha1.ProxyReportStatus{Conditions: condition("False", "EndpointUnknown", late)}, &record, Status{Progressing, "EndpointUnknown: why", time.Time{}, true, false, false}},
		"no facts":                              {v1alpha1.ProxyReportStatus{Conditions: condition("Unknown", "FactsPending", late)}, &record, Status{Progressing, "FactsPending: why", time.Time{}, true, false, false}},
		"does not get out":                      {v1alpha1.ProxyReportStatus{Conditions: condition("True", "AsExpected", early), Revision: same, Observed: seen("Failed", late)}, &record, Status{Failed, "its egress check failed: 407", ago(time.Hour).Time, true, false, false}},
		"did not get out before":                {v1alpha1.ProxyReportStatus{Conditions: condition("True", "AsExpected", early), Revision: same, Observed: seen("Failed", early)}, &record, Status{Done, "", ago(time.Hour).Time, true, false, false}},
		"gets out":                              {v1alpha1.ProxyReportStatus{Conditions: condition("True", "AsExpected", early), Revision: same, Observed: seen("Verified", late)}, &record, Status{Done, "", ago(time.Hour).Time, false, false, false}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := StatusOf(test.report, test.record, ""); got != test.want {
				t.Errorf("%+v, want %+v", got, test.want)
			}
		})
	}
}

// What was observed between the record and the Secrets is about the previous revision.
func TestWhatProbesSayOfARecord(t *testing.T) {
	record := revision.Record{ReportedRevision: v1alpha1.ReportedRevision{Proxy: "corp", Number: 2, Digest: "d"}, Since: ago(time.Hour)}
	verified := record
	verified.Verified = true
	proven := verified
	proven.Proven = ptrTo(ago(25 * time.Minute))
	written := ago(30 * time.Minute)
	seen := func(egress string, since time.Duration) *v1alpha1.Observed {
		return &v1alpha1.Observed{Egress: egress, Time: ago(since), Message: "407"}
	}
	of := func(change func(*v1alpha1.ReportedRevision), egress string, since time.Duration) *v1alpha1.Observed {
		o, r := seen(egress, since), record.ReportedRevision
		change(&r)
		o.Revision = revision.Identity(r)
		return o
	}
	with := func(number int64, egress string) *v1alpha1.Observed {
		return of(func(r *v1alpha1.ReportedRevision) { r.Number = number }, egress, 20*time.Minute)
	}
	itself := func(*v1alpha1.ReportedRevision) {}
	hourly := seen(v1alpha1.EgressVerified, 40*time.Minute)
	hourly.Period = &metav1.Duration{Duration: time.Hour}
	const between, at, after = 40 * time.Minute, 30 * time.Minute, 20 * time.Minute
	const nothing, unsure, failed = "its probes say nothing since the change", "its probes do not say whether they hold: 407", "its egress check failed: 407"
	still := func(o *v1alpha1.Observed) string {
		return fmt.Sprintf("its probe still tries other settings (%s): upgrade fairlead-policies in the cluster with its newest values", o.Revision)
	}
	othersProxy := of(func(r *v1alpha1.ReportedRevision) { r.Proxy = "other" }, v1alpha1.EgressVerified, after)
	otherList := of(func(r *v1alpha1.ReportedRevision) { r.Override = "o" }, v1alpha1.EgressVerified, after)
	since40 := "not observed since " + noon.Add(-between).UTC().Format(time.RFC3339)
	unreached := seen(v1alpha1.EgressUnknown, between)
	unreached.Message = "no kubeconfig"
	for name, test := range map[string]struct {
		seen    *v1alpha1.Observed
		record  revision.Record
		probes  string
		state   State
		message string
		failing bool
	}{
		"failed between":                {seen(v1alpha1.EgressFailed, between), record, "", Done, "", true},
		"failed in the same second":     {seen(v1alpha1.EgressFailed, at), record, "", Done, "", true},
		"failed after":                  {seen(v1alpha1.EgressFailed, after), record, "", Failed, failed, true},
		"failed after, and ignored":     {seen(v1alpha1.EgressFailed, after), record, v1alpha1.ProbesIgnored, Done, "", false},
		"failed after, and required":    {seen(v1alpha1.EgressFailed, after), verified, v1alpha1.ProbesRequired, Failed, failed, true},
		"nothing":                       {nil, verified, v1alpha1.ProbesRequired, Progressing, nothing, false},
		"nothing after":                 {seen(v1alpha1.EgressVerified, between), verified, v1alpha1.ProbesRequired, Progressing, since40, false},
		"nothing yet of a long period":  {hourly, verified, v1alpha1.ProbesRequired, Progressing, since40 + ", and looked into every 1h0m0s", false},
		"nobody reaches it":             {unreached, verified, v1alpha1.ProbesRequired, Progressing, since40 + ": no kubeconfig", false},
		"nothing that is sure":          {seen(v1alpha1.EgressUnknown, after), verified, v1alpha1.ProbesRequired, Progressing, unsure, false},
		"nothing that is sure any more": {seen(v1alpha1.EgressUnknown, after), proven, v1alpha1.ProbesRequired, Done, "", false},
		"failed after they held":        {seen(v1alpha1.EgressFailed, after), proven, v1alpha1.ProbesRequired, Failed, failed, true},
		"held after":                    {seen(v1alpha1.EgressVerified, after), verified, v1alpha1.ProbesRequired, Done, "", false},
		"nothing, and not required":     {nil, verified, v1alpha1.ProbesFailed, Done, "", false},
		"nothing, and did not hold":     {nil, record, v1alpha1.ProbesRequired, Done, "", false},
		"held with those of before":     {with(1, v1alpha1.EgressVerified), verified, v1alpha1.ProbesRequired, Progressing, still(with(1, "")), false},
		"held with these":               {with(2, v1alpha1.EgressVerified), verified, v1alpha1.ProbesRequired, Done, "", false},
		"held with another proxy's":     {othersProxy, verified, v1alpha1.ProbesRequired, Progressing, still(othersProxy), false},
		"held with another list":        {otherList, verified, v1alpha1.ProbesRequired, Progressing, still(otherList), false},
		"held with these, a slow clock": {of(itself, v1alpha1.EgressVerified, between), verified, v1alpha1.ProbesRequired, Done, "", false},
		"failed with these, days ago":   {of(itself, v1alpha1.EgressFailed, 50*time.Hour), record, "", Done, "", true},
		"never seen":                    {&v1alpha1.Observed{Egress: v1alpha1.EgressUnknown, Message: "403"}, verified, v1alpha1.ProbesRequired, Progressing, nothing + ": 403", false},
		"failed with those of before":   {with(1, v1alpha1.EgressFailed), record, "", Done, "", true},
		"failed with those of later":    {with(3, v1alpha1.EgressFailed), record, "", Done, "", true},
		"failed with these":             {with(2, v1alpha1.EgressFailed), record, "", Failed, failed, true},
		"failed before, and again":      {seen(v1alpha1.EgressFailed, after), record, v1alpha1.ProbesRequired, Failed, failed, true},
		"nothing after, and did not so": {seen(v1alpha1.EgressFailed, between), record, v1alpha1.ProbesRequired, Done, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			report := v1alpha1.ProxyReportStatus{
				Conditions: []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, LastTransitionTime: ago(2 * time.Hour)}},
				Revision:   &test.record.ReportedRevision, RevisionSince: &written, Observed: test.seen,
			}
			got := StatusOf(report, &test.record, test.probes)
			if got.State != test.state || got.Message != test.message || got.Failing != test.failing || got.Unproven != (test.state == Progressing) {
				t.Errorf("%+v", got)
			}
			report.RevisionSince, report.Secrets = nil, []v1alpha1.SecretRecord{{Written: ptrTo(ago(3 * time.Hour))}, {Written: &written}}
			if of := StatusOf(report, &test.record, test.probes); of.State != got.State {
				t.Errorf("of a report that an earlier version wrote: %+v", of)
			}
			report.Revision = nil
			if before := StatusOf(report, &test.record, test.probes); before.State != Progressing || before.Unproven {
				t.Errorf("before its Secrets are written: %+v", before)
			}
		})
	}
}

func TestWhoDoesNotObserveAnyMoreSaysNothing(t *testing.T) {
	seen := &v1alpha1.Observed{Egress: v1alpha1.EgressVerified, Time: ago(15 * time.Minute)}
	if Holds(seen, noon) || !Holds(seen, noon.Add(-5*time.Minute)) {
		t.Error("without a period, it holds for ten minutes")
	}
	seen.Period = &metav1.Duration{Duration: 8 * time.Minute}
	if !Holds(seen, noon) || Holds(seen, noon.Add(2*time.Minute)) {
		t.Error("it holds for two periods")
	}
	seen.Egress = v1alpha1.EgressUnknown
	if Holds(seen, noon) || Holds(nil, noon) {
		t.Error("what is unknown holds")
	}
}

// An API server that answers late once takes no proof away: else a change would go by clusters whose probes held until then.
func TestWhatCannotBeToldForAMomentHeldAllTheSame(t *testing.T) {
	seen := &v1alpha1.Observed{Egress: v1alpha1.EgressUnknown, Time: ago(time.Second), LastVerifiedTime: ptrTo(ago(9 * time.Minute))}
	if !Holds(seen, noon) || Holds(seen, noon.Add(2*time.Minute)) {
		t.Error("it holds for ten minutes")
	}
	if seen.Egress = v1alpha1.EgressFailed; Holds(seen, noon) {
		t.Error("it has failed since")
	}
}
