package rights

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

func TestWhatIsRefusedOnceAndAllowedLaterIsNotMissed(t *testing.T) {
	event := func(verb, uri string, code int32) auditv1.Event {
		return auditv1.Event{Verb: verb, RequestURI: uri, ResponseStatus: &metav1.Status{Code: code}}
	}
	got := Missed([]auditv1.Event{
		event("watch", "/api/v1/pods?resourceVersion=1", 200), event("watch", "/api/v1/pods?resourceVersion=2", 403),
		event("list", "/api/v1/pods", 403), event("get", "/api/v1/nodes/a", 200), event("get", "/api/v1/nodes/b", 403),
	})
	if want := []string{"get /api/v1/nodes/b", "list /api/v1/pods"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
