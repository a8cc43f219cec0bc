package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
)

// What the API servers write down.
const (
	auditOf    = "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules:\n"
	noAudit    = auditOf + "- {level: None}\n"
	auditReads = auditOf + `
- {level: Metadata, verbs: [get, list, watch], resources: [{group: "", resources: [secrets]}], omitStages: [RequestReceived]}
- {level: None}
`
)

// reader is who has read a kubeconfig, or may have: with a list of Secrets, or a watch.
type reader struct{ user, program string }

// sweep asks the audit log who has read kubeconfigs.
func (s *stage) sweep(context.Context) error {
	events, err := s.cp.AuditEvents(0, controlplane.OnResource("", "secrets"), readsKubeconfig)
	if err != nil {
		return err
	}
	s.readers = map[reader]int{}
	for _, event := range events {
		program, _, _ := strings.Cut(event.UserAgent, "/")
		s.readers[reader{event.User.Username, program}]++
		if strings.HasPrefix(program, "fairlead") || strings.HasPrefix(event.User.Username, "system:serviceaccount:"+system+":") {
			return fmt.Errorf("%s reads a kubeconfig as %s: %s %s", program, event.User.Username, event.Verb, event.RequestURI)
		}
	}
	if len(s.readers) == 0 {
		return fmt.Errorf("nobody has read the kubeconfig of %s", third)
	}
	return nil
}

// readsKubeconfig tells of reads that were allowed: of the Secret by its name, or of all in its namespace.
func readsKubeconfig(event auditv1.Event) bool {
	if !slices.Contains([]string{"get", "list", "watch"}, event.Verb) || event.ResponseStatus == nil || event.ResponseStatus.Code >= 300 {
		return false
	}
	if event.Verb == "get" {
		return strings.HasSuffix(event.ObjectRef.Name, "-kubeconfig")
	}
	selected := strings.Contains(event.RequestURI, "fieldSelector=metadata.name%3D")
	narrow := selected && !strings.Contains(event.RequestURI, "-kubeconfig")
	return !narrow && (event.ObjectRef.Namespace == "" || event.ObjectRef.Namespace == clusters)
}

func (s *stage) showSweep(context.Context) error {
	s.say("The audit log of the management cluster: who has read %s-kubeconfig, or listed Secrets of %s.\n", third, clusters)
	rows := [][]string{{"program", "user", "reads"}}
	for who, count := range s.readers {
		rows = append(rows, []string{who.program, who.user, fmt.Sprint(count)})
	}
	slices.SortFunc(rows[1:], slices.Compare)
	s.table(rows)
	s.say("\nNo program of Fairlead, and no account of %s, is among them.", system)
	return nil
}
