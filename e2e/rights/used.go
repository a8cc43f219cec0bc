package rights

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

// IsReal leaves out the dry runs by which a starting program tries its cage.
func IsReal(event auditv1.Event) bool { return !strings.Contains(event.RequestURI, "dryRun=All") }

// Unused are the rights of a table that none of somebody's requests needed.
func Unused(table Table, events []auditv1.Event) []string {
	used := map[string]bool{}
	for _, event := range events {
		if event.ObjectRef == nil {
			continue
		}
		resource := Resource{Name: strings.TrimSuffix(event.ObjectRef.Resource+"/"+event.ObjectRef.Subresource, "/")}
		resource.At.Group = event.ObjectRef.APIGroup
		verbs := []string{event.Verb}
		if strings.Contains(event.RequestURI, "sendInitialEvents=true") {
			verbs = append(verbs, "list") // which an older API server is asked for instead
		}
		if event.ResponseStatus != nil && event.ResponseStatus.Code == http.StatusCreated {
			verbs = append(verbs, "create") // which a patch that creates needs, too
		}
		for _, verb := range verbs {
			used[verb+" "+resource.String()] = true
			used[verb+" "+resource.String()+" "+event.ObjectRef.Name] = true
		}
	}
	var unused []string
	for _, key := range slices.Sorted(maps.Keys(table)) {
		for verb := range strings.FieldsSeq(table[key]) {
			if !used[verb+" "+key] {
				unused = append(unused, verb+" "+key)
			}
		}
	}
	return unused
}

// Missed are the requests that were refused and never allowed. One that is allowed at another time says nothing of the rights: an
// API server that starts refuses until it has read the roles, and the client asks again.
func Missed(events []auditv1.Event) []string {
	request := func(event auditv1.Event) string {
		uri, _, _ := strings.Cut(event.RequestURI, "?")
		return event.Verb + " " + uri
	}
	allowed, missed := map[string]bool{}, map[string]bool{}
	for _, event := range events {
		if event.ResponseStatus == nil {
			continue
		}
		if event.ResponseStatus.Code == http.StatusForbidden {
			missed[request(event)] = true
		} else {
			allowed[request(event)] = true
		}
	}
	maps.DeleteFunc(missed, func(key string, _ bool) bool { return allowed[key] })
	return slices.Sorted(maps.Keys(missed))
}
