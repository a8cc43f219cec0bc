package main

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
)

// auditPolicy writes down what is asked, without bodies: what that costs is not to be measured.
//
//go:embed audit-policy.yaml
var auditPolicy []byte

// requests are counts by verb and resource.
type requests map[string]int

// requestsOf returns the requests of a user since the mark, less those about its lease.
func requestsOf(user string, cp *controlplane.ControlPlane, since controlplane.AuditMark) (requests, error) {
	events, err := cp.AuditEvents(since, controlplane.ByUser(user))
	if err != nil {
		return nil, err
	}
	counts := requests{}
	for i := range events {
		if name := requestName(&events[i]); name != "" {
			counts[name]++
		}
	}
	return counts, nil
}

// requestName is empty for what does not count: leases, and the ends of watches.
func requestName(event *auditv1.Event) string {
	of := event.ObjectRef
	if of == nil || of.Resource == "leases" || event.Verb == "watch" && event.Stage != auditv1.StageResponseStarted {
		return ""
	}
	if of.Resource == "events" && of.APIGroup == "" { // core events are about the lease alone, the cage sees to it
		return ""
	}
	name := event.Verb + " " + of.Resource
	if of.Subresource != "" {
		name += "/" + of.Subresource
	}
	if strings.Contains(event.RequestURI, "dryRun=All") {
		name += " (dry run)"
	}
	if event.ResponseStatus != nil && event.ResponseStatus.Code >= 300 {
		name += fmt.Sprintf(" (%d)", event.ResponseStatus.Code)
	}
	return name
}

func (r requests) sum() (sum int) {
	for _, n := range r {
		sum += n
	}
	return sum
}

// writes are those that can change something.
func (r requests) writes() (sum int) {
	for name, n := range r {
		verb, _, _ := strings.Cut(name, " ")
		if !slices.Contains([]string{"get", "list", "watch"}, verb) && !strings.Contains(name, "(dry run)") {
			sum += n
		}
	}
	return sum
}

func (r requests) String() string {
	texts := []string{}
	for _, name := range slices.Sorted(maps.Keys(r)) {
		texts = append(texts, fmt.Sprintf("%d %s", r[name], name))
	}
	if len(texts) == 0 {
		return "none"
	}
	return strings.Join(texts, ", ")
}
