package controller

import (
	"context"
	"errors"
	"reflect"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/render"
	"github.com/fairlead-io/fairlead/internal/write/apply"
)

// server takes what is applied, but for what it has an error for, and has the key of the write memory.
type server struct {
	client.Client
	errors  map[string]error // by kind
	applied map[string]int   // by kind
	mu      sync.Mutex
}

func (s *server) Get(_ context.Context, _ client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	secret, is := object.(*corev1.Secret)
	if !is {
		return apierrors.NewNotFound(schema.GroupResource{}, "") // the CorporateProxy, which could carry a mark
	}
	secret.Data = map[string][]byte{memoryKey: make([]byte, apply.KeyBytes)}
	return nil
}

func (s *server) Patch(_ context.Context, object client.Object, _ client.Patch, _ ...client.PatchOption) error {
	kind := reflect.TypeOf(object).Elem().Name()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.applied[kind]++
	object.SetUID("uid")
	return s.errors[kind]
}

// turn decides and applies, and has the report say what came of it.
func turn(r *ClusterReconciler, s *state) outcome {
	s.paced = r.memory.untilTurn(client.ObjectKeyFromObject(s.cluster), r.Interval, time.Now()) <= 0
	d := decide(*s, lintList)
	w := r.applySecrets(context.Background(), *s, d)
	s.report.Status = conclude(*s, d, w, nil)
	r.paceNext(*s, w, s.report.Status)
	return w.outcome()
}

func withConfigMap(t *testing.T) (*server, *ClusterReconciler, *state) {
	t.Helper()
	cluster := &server{errors: map[string]error{}, applied: map[string]int{}}
	s := aState(t)
	s.installation.ConfigMap, s.report = true, &v1alpha1.ProxyReport{}
	m := &memory{}
	known := &changes{client: cluster, loaded: true, memory: m, marked: map[string]*mark{}}
	return cluster, &ClusterReconciler{Client: cluster, Key: &writeKey{Client: cluster}, Interval: time.Hour, memory: m, changes: known}, &s
}

// A name that is taken is tried again every minute, and the Secrets are due every ten.
func TestANameThatIsTakenDoesNotPutOffTheSecretsTurn(t *testing.T) {
	cluster, r, s := withConfigMap(t)
	cluster.errors["ConfigMap"] = errors.New(apply.NotOurs + " it is theirs")
	turn(r, s)
	due := r.memory.of(clusterKey("c1")).turn
	out := turn(r, s)
	if cluster.applied["Secret"] != 2 || cluster.applied["ConfigMap"] != 2 || len(out.taken) != 1 {
		t.Fatalf("%v, %+v", cluster.applied, out)
	}
	if next := r.memory.of(clusterKey("c1")).turn; !next.Equal(due) {
		t.Errorf("the Secrets were due at %s, and are at %s", due, next)
	}
	r.memory.of(clusterKey("c1")).turn = time.Now()
	turn(r, s)
	if cluster.applied["Secret"] != 4 || !r.memory.of(clusterKey("c1")).turn.After(due.Add(-20*time.Minute)) {
		t.Errorf("in their turn: %v, and again at %s", cluster.applied, r.memory.of(clusterKey("c1")).turn)
	}
}

// A ConfigMap that is there and that nobody asks for any more is kept up to date, also if the API server refuses once.
func TestARefusedConfigMapStaysDueWhereItIsNotAskedForAnyMore(t *testing.T) {
	cluster, r, s := withConfigMap(t)
	refusal := apierrors.NewForbidden(corev1.Resource("configmaps"), "c1-cluster-values", errors.New("no right"))
	cluster.errors["ConfigMap"] = refusal
	turn(r, s)
	if s.report.Status.ConfigMap != nil {
		t.Error("one that was never written is remembered")
	}
	cluster.errors["ConfigMap"] = nil
	turn(r, s)
	s.installation.ConfigMap = false
	s.cluster.Spec.ControlPlaneEndpoint.Host = "10.0.0.2"
	cluster.errors["ConfigMap"] = refusal
	if out := turn(r, s); len(out.refused) != 1 {
		t.Errorf("%+v", out)
	}
	cluster.errors["ConfigMap"] = nil
	if turn(r, s); recordOf(s.report.Status, render.ConfigMapRole).UID != "uid" {
		t.Errorf("%+v", s.report.Status)
	}
}

func TestWhatIsOnlyCheaperLosesNoRecord(t *testing.T) {
	f := newCountedFleet(t, 1)
	f.fail["patch"] = apierrors.NewInternalError(errors.New("a webhook is gone"))
	f.reconcileAll(1)
	f.wantReady("c0", "Applied", "")
}
