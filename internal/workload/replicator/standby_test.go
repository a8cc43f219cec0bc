package replicator

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
)

// elsewhere returns an API server in which another replica leads, and which has nothing else. It tells which paths are watched.
func elsewhere(t *testing.T) (config *rest.Config, watched chan string) {
	t.Helper()
	watched = make(chan string, 100)
	kinds := map[string]string{"secrets": "Secret", "configmaps": "ConfigMap", "namespaces": "Namespace", "pods": "Pod", "events": "Event"}
	var resources []metav1.APIResource
	for name, kind := range kinds {
		resources = append(resources, metav1.APIResource{Name: name, Kind: kind, Namespaced: name != "namespaces", Verbs: metav1.Verbs{"list", "watch"}})
	}
	now := metav1.NewMicroTime(time.Now())
	lease := coordinationv1.Lease{
		TypeMeta:   metav1.TypeMeta{APIVersion: "coordination.k8s.io/v1", Kind: "Lease"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "own", Name: "fairlead-replicator", ResourceVersion: "1"},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: ptr.To("another"), LeaseDurationSeconds: ptr.To[int32](3600), AcquireTime: &now, RenewTime: &now},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		last := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
		say := func(status int, answer any) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_ = json.NewEncoder(w).Encode(answer)
		}
		switch {
		case r.URL.Path == "/api":
			say(200, metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}})
		case r.URL.Path == "/apis":
			say(200, metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}})
		case r.URL.Path == "/api/v1":
			say(200, metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: "v1", APIResources: resources})
		case strings.Contains(r.URL.Path, "/leases"):
			say(200, lease)
		case r.URL.Query().Get("sendInitialEvents") == "true": // a list comes instead
			say(422, metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Reason: metav1.StatusReasonInvalid, Code: 422})
		case r.URL.Query().Get("watch") != "":
			watched <- r.URL.Path
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(200)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		case strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadataList"):
			say(200, metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{Kind: "PartialObjectMetadataList", APIVersion: "meta.k8s.io/v1"}, ListMeta: metav1.ListMeta{ResourceVersion: "1"}})
		case kinds[last] != "":
			say(200, map[string]any{"kind": kinds[last] + "List", "apiVersion": "v1", "metadata": map[string]any{"resourceVersion": "1"}, "items": []any{}})
		default:
			say(404, metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Reason: metav1.StatusReasonNotFound, Code: 404})
		}
	}))
	t.Cleanup(server.CloseClientConnections)
	return &rest.Config{Host: server.URL, QPS: -1}, watched
}

// What a controller's source awaits on a standby, the standby watches. Else it ends after two minutes.
func TestAStandbyWatchesAllThatItAwaits(t *testing.T) {
	config, watched := elsewhere(t)
	mgr, err := newManager(config, Options{
		Namespace: "own", Source: "fairlead-delivered", OnDemandNamespaces: []string{"kube-system"}, CountCredentials: true,
		LeaderElection: true, MetricsAddress: "0", HealthAddress: "0",
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	missing := map[string]bool{"/api/v1/namespaces/own/secrets": true, "/api/v1/namespaces/kube-system/pods": true, "/api/v1/pods": true}
	deadline := time.After(time.Minute)
	for len(missing) > 0 {
		select {
		case path := <-watched:
			delete(missing, path)
		case err := <-ended:
			t.Fatalf("it ended: %v", err)
		case <-deadline:
			t.Fatalf("nobody watches %v", missing)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
