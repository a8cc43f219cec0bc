package controlplane

import (
	"testing"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

func TestAWriteCountsFromWhenItCameAndIsWaitedFor(t *testing.T) {
	received := auditv1.Event{Stage: auditv1.StageRequestReceived, Verb: "update", AuditID: "in time"}
	answer := auditv1.Event{Stage: auditv1.StageResponseComplete, Verb: "update", AuditID: "in time"}
	read := auditv1.Event{Stage: auditv1.StageResponseComplete, Verb: "get", AuditID: "a read"}
	early := auditv1.Event{Stage: auditv1.StageResponseComplete, Verb: "create", AuditID: "came before"}

	events, unanswered := answered([]auditv1.Event{early, received, read})
	if len(events) != 1 || events[0].AuditID != "a read" || len(unanswered) != 1 {
		t.Errorf("%d events, %d unanswered: want the read, and one that is waited for", len(events), len(unanswered))
	}
	events, unanswered = answered([]auditv1.Event{early, received, read, answer})
	if len(events) != 2 || events[1].AuditID != "in time" || len(unanswered) != 0 {
		t.Errorf("%d events, %d unanswered: want the read and the write, and none", len(events), len(unanswered))
	}
}
