package observe

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	scheme "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

// fleetMachine returns a Machine as Cluster API makes it: about 5 KiB of JSON. Each cluster has 20.
func fleetMachine(i int) *clusterv1.Machine {
	cluster := fmt.Sprintf("cluster-%05d", i/20)
	m := machine(fmt.Sprintf("%s-md-0-abcde-%06d", cluster, i), func(m *clusterv1.Machine) {
		m.Namespace, m.UID, m.ResourceVersion = fmt.Sprintf("org-%05d", i/20), types.UID(fmt.Sprintf("00000000-0000-0000-0000-%012d", i)), strconv.Itoa(i+1)
		m.Labels = map[string]string{clusterv1.ClusterNameLabel: cluster, clusterv1.MachineDeploymentNameLabel: cluster + "-md-0", clusterv1.MachineSetNameLabel: cluster + "-md-0-abcde"}
		m.Annotations = map[string]string{"of.somebody.example/else": strings.Repeat("x", 500)}
		m.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "capi", FieldsV1: metav1.NewFieldsV1(`{"f:x":{"` + strings.Repeat("x", 1000) + `":{}}}`)}}
		m.Spec.ClusterName, m.Spec.Version = cluster, "v1.34.0"
	})
	for _, kind := range []string{"Available", "Ready", "UpToDate", "BootstrapConfigReady", "InfrastructureReady", "NodeReady", "NodeHealthy", "Paused", "Deleting", v1alpha1.ConditionEgressVerified} {
		m.Status.Conditions = append(m.Status.Conditions, metav1.Condition{
			Type: kind, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonVerified, Message: "the node reaches every target in the way that is expected", LastTransitionTime: metav1.Now(),
		})
	}
	return m
}

// serveMachines returns an API server with n Machines, as far as a list and a watch of them go. It notes the requests.
func serveMachines(t *testing.T, n int, streams bool) (host string, asked func() []url.Values) {
	t.Helper()
	var mu sync.Mutex
	var queries []url.Values
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		mu.Lock()
		queries = append(queries, query)
		mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		answer := json.NewEncoder(w)
		send := func(kind string, m *clusterv1.Machine) {
			m.TypeMeta = metav1.TypeMeta{APIVersion: clusterv1.GroupVersion.String(), Kind: "Machine"}
			_ = answer.Encode(map[string]any{"type": kind, "object": m})
		}
		initial := query.Get("sendInitialEvents") == "true"
		switch {
		case query.Get("watch") == "":
			list := &clusterv1.MachineList{TypeMeta: metav1.TypeMeta{APIVersion: clusterv1.GroupVersion.String(), Kind: "MachineList"}}
			list.ResourceVersion = strconv.Itoa(n + 1)
			from, _ := strconv.Atoi(query.Get("continue"))
			to := n
			if limit, _ := strconv.Atoi(query.Get("limit")); limit > 0 && from+limit < n && query.Get("resourceVersion") == "" {
				to = from + limit
				list.Continue = strconv.Itoa(to)
			}
			for i := from; i < to; i++ {
				list.Items = append(list.Items, *fleetMachine(i))
			}
			_ = answer.Encode(list)
			return
		case initial && !streams:
			w.WriteHeader(http.StatusUnprocessableEntity)
			_ = answer.Encode(metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Reason: metav1.StatusReasonInvalid, Code: http.StatusUnprocessableEntity})
			return
		case initial:
			for i := range n {
				send("ADDED", fleetMachine(i))
			}
			send("BOOKMARK", &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{ResourceVersion: strconv.Itoa(n + 1), Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"}}})
		}
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	t.Cleanup(server.Close)
	return server.URL, func() []url.Values {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(queries)
	}
}

// With MACHINES=100000, the test logs the cost of the machines of a large fleet.
func TestWhatMachinesCostInTheCache(t *testing.T) {
	n, err := strconv.Atoi(cmp.Or(os.Getenv("MACHINES"), "5000"))
	if err != nil {
		t.Fatal(err)
	}
	for name, streams := range map[string]bool{"streamed": true, "in pages": false} {
		t.Run(name, func(t *testing.T) {
			host, asked := serveMachines(t, n, streams)
			before := heap()
			machines := cacheOf(t, host)
			each := (heap() - before) / uint64(n)
			t.Logf("%d Machines: %d bytes each, %d MiB", n, each, uint64(n)*each>>20)
			if each > 1500 {
				t.Errorf("a Machine costs %d bytes", each)
			}
			for _, query := range asked() {
				if want := "!cluster.x-k8s.io/control-plane,cluster.x-k8s.io/deployment-name"; query.Get("labelSelector") != want {
					t.Errorf("it asks for %v", query)
				}
				if query.Get("watch") == "" && (query.Get("limit") == "" || query.Get("resourceVersion") != "") {
					t.Errorf("it asks for all at once: %v", query)
				}
			}
			found := &clusterv1.MachineList{}
			err := machines.List(t.Context(), found, client.InNamespace("org-00002"), client.MatchingFields{clusterIndex: "cluster-00002"}, client.UnsafeDisableDeepCopy)
			if err != nil || len(found.Items) != 20 || found.Items[0].Status.NodeRef.Name == "" || len(found.Items[0].Status.Conditions) != 1 {
				t.Errorf("%d Machines of a cluster: %v", len(found.Items), err)
			}
		})
	}
}

// cacheOf is this program's cache of Machines, once it has all.
func cacheOf(t *testing.T, host string) cache.Cache {
	t.Helper()
	s, mapper := scheme.NewScheme(), meta.NewDefaultRESTMapper(nil)
	if err := clusterv1.AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	mapper.Add(clusterv1.GroupVersion.WithKind("Machine"), meta.RESTScopeNamespace)
	opts := caches(Options{Machines: true})
	opts.Scheme, opts.Mapper = s, mapper
	machines, err := cache.New(&rest.Config{Host: host}, opts)
	if err != nil {
		t.Fatal(err)
	}
	if err := machines.IndexField(t.Context(), &clusterv1.Machine{}, clusterIndex, byCluster); err != nil {
		t.Fatal(err)
	}
	go func() { _ = machines.Start(t.Context()) }()
	if !machines.WaitForCacheSync(t.Context()) {
		t.Fatal("the cache has not all Machines")
	}
	return machines
}

func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // what the first one finalizes
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
