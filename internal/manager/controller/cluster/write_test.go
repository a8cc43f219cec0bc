package cluster

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
	"github.com/fairlead-io/fairlead/internal/manager/controller/decide"
	"github.com/fairlead-io/fairlead/internal/manager/controller/findings"
	"github.com/fairlead-io/fairlead/internal/manager/controller/settings"
	"github.com/fairlead-io/fairlead/internal/write/apply"
)

// server is an API server that takes every object that is applied, except those with an error in errors. It has the
// key of the write memory.
type server struct {
	client.Client
	errors  map[string]error // by kind
	applied map[string]int   // by kind
	mu      sync.Mutex
}

func (s *server) Get(_ context.Context, _ client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	secret, ok := object.(*corev1.Secret)
	if !ok {
		return apierrors.NewNotFound(schema.GroupResource{}, "") // the CorporateProxy, which could carry a mark
	}
	secret.Data = map[string][]byte{settings.MemoryKey: make([]byte, apply.KeyBytes)}
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
func turn(r *Reconciler, s *decide.State) decide.Outcome {
	s.Paced = r.memory.untilTurn(client.ObjectKeyFromObject(s.Cluster), r.Interval, time.Now()) <= 0
	d := decide.Decide(*s, findings.OfList)
	w := r.applySecrets(context.Background(), *s, d)
	s.Report.Status = decide.Conclude(*s, d, w, nil)
	r.paceNext(*s, w, s.Report.Status)
	return w.Outcome()
}

func withConfigMap(t *testing.T) (*server, *Reconciler, *decide.State) {
	t.Helper()
	cluster := &server{errors: map[string]error{}, applied: map[string]int{}}
	s := aState(t)
	s.Installation.ConfigMap, s.Report = true, &v1alpha1.ProxyReport{}
	r := (&Reconciler{Client: cluster, Key: &settings.Key{Client: cluster}, Interval: time.Hour}).Begin()
	r.changes.loaded, r.changes.marked = true, map[string]*mark{}
	return cluster, r, &s
}

// A name that is taken is tried again every minute, and the Secrets are due every ten.
func TestANameThatIsTakenDoesNotPutOffTheSecretsTurn(t *testing.T) {
	cluster, r, s := withConfigMap(t)
	cluster.errors["ConfigMap"] = errors.New(apply.NotOurs + " it is theirs")
	turn(r, s)
	due := r.memory.of(clusterKey("c1")).turn
	out := turn(r, s)
	if cluster.applied["Secret"] != 2 || cluster.applied["ConfigMap"] != 2 || len(out.Taken) != 1 {
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
	if s.Report.Status.ConfigMap != nil {
		t.Error("one that was never written is remembered")
	}
	cluster.errors["ConfigMap"] = nil
	turn(r, s)
	s.Installation.ConfigMap = false
	s.Cluster.Spec.ControlPlaneEndpoint.Host = "10.0.0.2"
	cluster.errors["ConfigMap"] = refusal
	if out := turn(r, s); len(out.Refused) != 1 {
		t.Errorf("%+v", out)
	}
	cluster.errors["ConfigMap"] = nil
	if turn(r, s); decide.RecordOf(s.Report.Status, render.ConfigMapRole).UID != "uid" {
		t.Errorf("%+v", s.Report.Status)
	}
}

func TestWhatIsOnlyCheaperLosesNoRecord(t *testing.T) {
	f := newCountedFleet(t, 1)
	f.fail["patch"] = apierrors.NewInternalError(errors.New("a webhook is gone"))
	f.reconcileAll(1)
	f.wantReady("c0", "Applied", "")
}
