package controlplane

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

//go:embed audit-policy.yaml
var auditPolicy []byte

// AuditMark is a place in the audit log. The zero mark is its beginning.
type AuditMark int64

// AuditMark is the end of the audit log now. What a client does after it has the mark, comes after it.
func (cp *ControlPlane) AuditMark() (AuditMark, error) {
	info, err := os.Stat(cp.dir.auditLog())
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("find the end of the audit log: %w", err)
	}
	return AuditMark(info.Size()), nil
}

// AuditEvents are the requests that came since the mark, in the order of their answers, as far as all
// conditions hold. Writes that have come by now are waited for: what they changed can be seen before they
// are in the log. What a killed API server left unanswered is an error. A watch is there when it begins,
// with stage ResponseStarted, and once more when it ends.
func (cp *ControlPlane) AuditEvents(since AuditMark, conditions ...AuditCondition) ([]auditv1.Event, error) {
	var events []auditv1.Event
	var byNow map[types.UID]string // what comes meanwhile is not waited for: there may be no end to it
	err := wait.PollUntilContextTimeout(context.Background(), 10*time.Millisecond, answerTime, true, func(context.Context) (bool, error) {
		lines, err := cp.auditLines(since)
		if err != nil {
			return false, err
		}
		var unanswered map[types.UID]string
		events, unanswered = answered(lines)
		if byNow == nil {
			byNow = unanswered
		}
		maps.DeleteFunc(byNow, func(id types.UID, _ string) bool { return unanswered[id] == "" })
		return len(byNow) == 0, nil
	})
	if err != nil {
		return nil, fmt.Errorf("await the answers of writes: %w (without one: %q)", err, slices.Sorted(maps.Values(byNow)))
	}
	return slices.DeleteFunc(events, func(event auditv1.Event) bool {
		return slices.ContainsFunc(conditions, func(holds AuditCondition) bool { return !holds(event) })
	}), nil
}

// answerTime is far above the ten seconds that a webhook may take, for a machine that has much else to do.
const answerTime = 2 * time.Minute

func (cp *ControlPlane) auditLines(since AuditMark) ([]auditv1.Event, error) {
	file, err := os.Open(cp.dir.auditLog())
	if err != nil {
		return nil, fmt.Errorf("open audit log: %w", err)
	}
	defer file.Close()
	from := max(int64(since)-1, 0)
	content, err := io.ReadAll(io.NewSectionReader(file, from, 1<<62))
	if err != nil {
		return nil, fmt.Errorf("read audit log: %w", err)
	}
	if since > 0 { // a line that was being written at the mark is of a request of before
		_, content, _ = bytes.Cut(content, []byte("\n"))
	}
	var lines []auditv1.Event
	for line := range bytes.Lines(content) {
		if !bytes.HasSuffix(line, []byte("\n")) {
			break // being written just now
		}
		var event auditv1.Event
		if err := json.Unmarshal(line, &event); err != nil {
			return nil, fmt.Errorf("parse audit log: %w", err)
		}
		lines = append(lines, event)
	}
	return lines, nil
}

// answered are the events of lines that answer a read, or a write that came in these lines, and the writes that wait for
// their answer.
func answered(lines []auditv1.Event) (events []auditv1.Event, waiting map[types.UID]string) {
	waiting = map[types.UID]string{}
	for _, event := range lines {
		if event.Stage == auditv1.StageRequestReceived {
			waiting[event.AuditID] = event.Verb + " " + event.RequestURI
			continue
		}
		if slices.Contains(writing, event.Verb) && waiting[event.AuditID] == "" {
			continue // it came before
		}
		delete(waiting, event.AuditID)
		events = append(events, event)
	}
	return events, waiting
}

// AuditCondition chooses events.
type AuditCondition func(auditv1.Event) bool

// Writes are requests that change something, whether or not they were allowed and made a difference.
// Questions that are asked by creating something, as reviews of access and of tokens are, change nothing.
func Writes(event auditv1.Event) bool {
	if event.ObjectRef != nil && slices.Contains(askedByCreating, event.ObjectRef.APIGroup) {
		return false
	}
	return slices.Contains(writing, event.Verb)
}

// writing are the verbs of audit-policy.yaml.
var writing = []string{"create", "update", "patch", "delete", "deletecollection"}

var askedByCreating = []string{authenticationv1.GroupName, authorizationv1.GroupName}

// ByUser chooses requests of one user; ServiceAccountUser gives the name of a service account.
func ByUser(name string) AuditCondition {
	return func(event auditv1.Event) bool { return event.User.Username == name }
}

// ServiceAccountUser is the user name of a service account.
func ServiceAccountUser(namespace, name string) string {
	return "system:serviceaccount:" + namespace + ":" + name
}

// ByUserAgent chooses requests of one program: its user agent begins so.
func ByUserAgent(prefix string) AuditCondition {
	return func(event auditv1.Event) bool { return strings.HasPrefix(event.UserAgent, prefix) }
}

// OnResource chooses requests for a resource, such as "" and "secrets", and for its subresources.
func OnResource(group, resource string) AuditCondition {
	return func(event auditv1.Event) bool {
		return event.ObjectRef != nil && event.ObjectRef.APIGroup == group && event.ObjectRef.Resource == resource
	}
}

// InNamespace chooses requests for objects in a namespace.
func InNamespace(name string) AuditCondition {
	return func(event auditv1.Event) bool { return event.ObjectRef != nil && event.ObjectRef.Namespace == name }
}
