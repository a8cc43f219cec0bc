package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/revision"
	"github.com/fairlead-io/fairlead/internal/manager/controller/settings"
	"github.com/fairlead-io/fairlead/internal/manager/controller/waves"
)

// waveFleetTest is a counted fleet whose CorporateProxy has waves: c0 is the canary.
type waveFleetTest struct {
	*countedFleet
	clusters int
}

func newWaveFleet(t *testing.T, clusters int) *waveFleetTest {
	t.Helper()
	w := &waveFleetTest{newCountedFleet(t, clusters), clusters}
	w.restartWaves()
	cluster := &clusterv1.Cluster{}
	w.must(w.objects.Get(t.Context(), types.NamespacedName{Namespace: "ns", Name: "c0"}, cluster))
	cluster.Labels = map[string]string{"stage": "canary"}
	w.must(w.objects.Update(t.Context(), cluster))
	half := intstr.FromString("50%")
	w.changeProxy(func(p *v1alpha1.CorporateProxy) {
		p.Spec.Rollout = &v1alpha1.Rollout{Waves: []v1alpha1.Wave{
			{Name: "canary", ClusterSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"stage": "canary"}}},
			{Name: "rest", MaxParallel: &half},
		}}
	})
	return w
}

func (w *waveFleetTest) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// restartWaves begins with reconcilers that remember nothing.
func (w *waveFleetTest) restartWaves() {
	w.restart()
	w.Waves = &waves.Reconciler{
		Client: w.objects, Proxies: w.Proxies, Latest: w.Latest, Started: time.Now(),
		Revisions: &settings.Revisions{Client: w.Client, Live: w.Client, Namespace: "system", Key: w.Key}, // which has no managed fields
		Preflight: &waves.Preflight{Client: w.objects, Namespace: "system", Enabled: true},
	}
}

func (w *waveFleetTest) changeProxy(change func(*v1alpha1.CorporateProxy)) {
	w.Helper()
	proxy := w.proxy()
	change(proxy)
	proxy.Generation++
	w.must(w.objects.Update(w.Context(), proxy))
}

// round decides once for the fleet, and has each cluster reconciled once. It returns the status of the rollout.
func (w *waveFleetTest) round() v1alpha1.RolloutStatus {
	w.Helper()
	if _, err := w.Waves.Reconcile(w.Context(), ctrl.Request{}); err != nil {
		w.Fatal(err)
	}
	for i := range w.clusters {
		request := ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "ns", Name: fmt.Sprint("c", i)}}
		if _, err := w.Reconcile(w.Context(), request); err != nil {
			w.Fatal(err)
		}
	}
	return *w.said().Rollout
}

// said returns what the status of the CorporateProxy is to say of its rollouts.
func (w *waveFleetTest) said() v1alpha1.CorporateProxyStatus {
	w.Helper()
	proxy := w.proxy()
	read, _ := w.Proxies.Get(w.Context(), proxy, time.Now())
	waves, ok := w.Waves.StatusOf(proxy, read.Version)
	if !ok {
		w.Fatal("nothing is decided")
	}
	var status v1alpha1.CorporateProxyStatus
	waves.AddTo(&status, proxy.Generation)
	return status
}

func (w *waveFleetTest) report(i int) *v1alpha1.ProxyReport {
	w.Helper()
	return w.reportOf(fmt.Sprint("c", i))
}

func (w *waveFleetTest) numbers() string {
	var all []string
	for i := range w.clusters {
		number := int64(0)
		if r := w.report(i).Status.Revision; r != nil {
			number = r.Number
		}
		all = append(all, fmt.Sprint(number))
	}
	return strings.Join(all, " ")
}

func TestAChangeGoesThroughTheWaves(t *testing.T) {
	w := newWaveFleet(t, 5)
	w.round()
	if got := w.round(); got.Progress != "5/5" && got.Revision != 1 || w.numbers() != "1 1 1 1 1" {
		t.Fatalf("%+v, %s", got, w.numbers())
	}
	w.setPassword("new-password")
	for _, want := range []string{"2 1 1 1 1", "2 2 2 1 1", "2 2 2 2 2"} {
		if status := w.round(); w.numbers() != want {
			t.Fatalf("the clusters have %s, want %s: %+v", w.numbers(), want, status)
		}
	}
}

// A change costs one request per cluster more than without waves: the record.
func TestAChangeThroughWavesCostsOneMetadataPatchMore(t *testing.T) {
	w := newWaveFleet(t, 5)
	w.round()
	w.round()
	w.setPassword("new-password")
	w.mu.Lock()
	clear(w.requests)
	w.mu.Unlock()
	for range 4 {
		w.round()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	// The Secret and the ConfigMap of the revision; the record; two Secrets; the status of the report, and the mark.
	want := map[string]int{"create": 2, "patch": 5, "apply": 10, "status of ProxyReport": 5, "status of CorporateProxy": 1}
	for request, n := range want {
		if w.requests[request] != n {
			t.Errorf("%s: %d requests, want %d (%v)", request, w.requests[request], n, w.requests)
		}
	}
}

func TestNothingChangedCostsNothing(t *testing.T) {
	w := newWaveFleet(t, 5)
	w.round()
	w.round()
	w.mu.Lock()
	clear(w.requests)
	w.mu.Unlock()
	w.round()
	if len(w.requests) != 0 {
		t.Errorf("%v", w.requests)
	}
	w.restartWaves()
	w.round()
	w.round()
	if len(w.requests) != 0 {
		t.Errorf("after a restart: %v", w.requests)
	}
}

func TestANewClusterGetsWhatHasPassedTheFirstWave(t *testing.T) {
	w := newWaveFleet(t, 3)
	w.round()
	w.round()
	w.changeProxy(func(p *v1alpha1.CorporateProxy) { p.Spec.Rollout.Waves[0].Soak = &metav1.Duration{Duration: time.Hour} })
	w.setPassword("new-password")
	w.round()
	w.must(w.objects.Create(t.Context(), aCluster(3)))
	w.clusters = 4
	w.round()
	if got := w.numbers(); got != "2 1 1 1" {
		t.Errorf("the clusters have %s", got)
	}
}

func TestWithoutRolloutNothingIsRecorded(t *testing.T) {
	w := newWaveFleet(t, 2)
	w.changeProxy(func(p *v1alpha1.CorporateProxy) { p.Spec.Rollout = nil })
	if _, err := w.Waves.Reconcile(t.Context(), ctrl.Request{}); err != nil {
		t.Fatal(err)
	}
	w.reconcileAll(2)
	if record, ok := w.report(0).Annotations[v1alpha1.RevisionAnnotation]; ok || w.report(0).Status.Revision != nil {
		t.Errorf("%s, %+v", record, w.report(0).Status.Revision)
	}
	w.noRevision()
}

func (w *waveFleetTest) noRevision() {
	w.Helper()
	configMaps := &corev1.ConfigMapList{}
	w.must(w.objects.List(w.Context(), configMaps, client.HasLabels{v1alpha1.RevisionLabel}))
	if n := len(configMaps.Items); n > 0 {
		w.Errorf("%d revisions are kept", n)
	}
}

// Who turns waves off gets the newest at once, and no record that is wrong when they are turned on again.
func TestARolloutThatIsTakenAwayLeavesNoRecord(t *testing.T) {
	w := newWaveFleet(t, 3)
	w.round()
	w.round()
	w.changeProxy(func(p *v1alpha1.CorporateProxy) { p.Spec.Rollout = nil })
	w.setPassword("new-password")
	for range 2 {
		if _, err := w.Waves.Reconcile(t.Context(), ctrl.Request{}); err != nil {
			t.Fatal(err)
		}
		if !w.Waves.Wanted() {
			t.Error("nobody would look when the clusters have no record any more, and Secrets with old passwords would stay")
		}
		w.reconcileAll(3)
	}
	for i := range 3 {
		report := w.report(i)
		if report.Annotations[v1alpha1.RevisionAnnotation] != "" || report.Status.Revision != nil {
			t.Errorf("%v, %+v", report.Annotations, report.Status.Revision)
		}
	}
	for range 2 { // the second finds none
		if _, err := w.Waves.Reconcile(t.Context(), ctrl.Request{}); err != nil {
			t.Fatal(err)
		}
	}
	w.noRevision()
	if w.Waves.Wanted() {
		t.Error("a fleet without waves is looked at")
	}
}

// As after clusterctl move: the record was made with another key.
func TestARecordOfAnotherManagementClusterIsHeldUntilItsWave(t *testing.T) {
	w := newWaveFleet(t, 3)
	w.round()
	w.round()
	for i := range 3 {
		report := w.report(i)
		foreign := revision.Record{ReportedRevision: v1alpha1.ReportedRevision{Proxy: "default", Number: 8, Digest: "otherkey.digest"}, Since: metav1.Now()}
		report.Annotations[v1alpha1.RevisionAnnotation] = foreign.String()
		w.must(w.objects.Update(t.Context(), report))
	}
	w.restartWaves()
	w.setPassword("new-password")
	w.round()
	if condition := meta.FindStatusCondition(w.report(1).Status.Conditions, v1alpha1.ConditionRevisionUnknown); condition == nil || !strings.Contains(condition.Message, "revision 8") {
		t.Errorf("%+v", w.report(1).Status.Conditions)
	}
	for range 4 {
		w.round()
	}
	if got := w.numbers(); got != "9 9 9" {
		t.Errorf("the clusters have %s", got)
	}
	if meta.FindStatusCondition(w.report(1).Status.Conditions, v1alpha1.ConditionRevisionUnknown) != nil {
		t.Errorf("%+v", w.report(1).Status.Conditions)
	}
}

func TestAnOverrideWaitsWhileTheRolloutIsPaused(t *testing.T) {
	w := newWaveFleet(t, 3)
	w.round()
	w.round()
	w.changeProxy(func(p *v1alpha1.CorporateProxy) { p.Spec.Rollout.Paused = true })
	w.must(w.objects.Create(t.Context(), &v1alpha1.ProxyOverride{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c2"},
		Spec:       v1alpha1.ProxyOverrideSpec{NoProxy: []v1alpha1.NoProxyEntry{{Value: "own.example"}}},
	}))
	for range 3 {
		w.round()
	}
	if report := w.report(2); strings.Contains(report.Status.NoProxy.Any, "own.example") || !meta.IsStatusConditionTrue(report.Status.Conditions, v1alpha1.ConditionHeld) {
		t.Errorf("%s, %+v", report.Status.NoProxy.Any, report.Status.Conditions)
	}
	w.changeProxy(func(p *v1alpha1.CorporateProxy) { p.Spec.Rollout.Paused = false })
	for range 2 {
		w.round()
	}
	if report := w.report(2); !strings.Contains(report.Status.NoProxy.Any, "own.example") || meta.FindStatusCondition(report.Status.Conditions, v1alpha1.ConditionHeld) != nil {
		t.Errorf("%s, %+v", report.Status.NoProxy.Any, report.Status.Conditions)
	}
}

func TestTheErrorOfOneCorporateProxyStopsNoOther(t *testing.T) {
	w := newWaveFleet(t, 1)
	first := w.proxy().DeepCopy() // by name before "default"
	first.ObjectMeta = metav1.ObjectMeta{Name: "a", UID: "a"}
	w.must(w.objects.Create(t.Context(), first))
	w.Waves.Revisions.Client = interceptor.NewClient(w.objects, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, object client.Object, opts ...client.CreateOption) error {
			if object.GetName() == revision.Name("a", 1) {
				return errors.New("the connection is lost")
			}
			return c.Create(ctx, object, opts...)
		},
	})
	if _, err := w.Waves.Reconcile(t.Context(), ctrl.Request{}); err == nil || !strings.Contains(err.Error(), "the connection is lost") {
		t.Errorf("%v", err)
	}
	w.must(w.objects.Get(t.Context(), client.ObjectKey{Namespace: "system", Name: revision.Name("default", 1)}, &corev1.Secret{}))
}

// URLs and credentials are in two objects, and a change of one is looked at a moment later. A new cluster asks again meanwhile.
func TestANewClusterWaitsForTheFirstRevision(t *testing.T) {
	w := newWaveFleet(t, 1)
	account := sourceWith("unused")
	account.Name, account.Data = "account", map[string][]byte{"username": []byte("me"), "password": []byte("secret")}
	w.must(w.objects.Create(t.Context(), account))
	w.changeProxy(func(p *v1alpha1.CorporateProxy) {
		p.Spec.Source = v1alpha1.ProxySource{URL: &v1alpha1.ProxyURLs{HTTP: "http://proxy.example:3128", CredentialsRef: &v1alpha1.SecretReference{Name: "account"}}}
	})
	planned, err := w.Waves.Reconcile(t.Context(), ctrl.Request{})
	w.must(err)
	result, err := w.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "ns", Name: "c0"}})
	w.must(err)
	if planned.RequeueAfter == 0 || result.RequeueAfter != waves.Undecided {
		t.Errorf("the fleet is looked at again after %s, the cluster after %s", planned.RequeueAfter, result.RequeueAfter)
	}
	if _, err := w.Proxies.Get(t.Context(), w.proxy(), time.Now().Add(time.Minute)); err != nil { // it has settled
		t.Fatal(err)
	}
	w.round()
	if got := w.numbers(); got != "1" {
		t.Errorf("afterwards it has %s", got)
	}
}

// Two objects change together, in two writes that are minutes apart for a repository: nothing of the one goes without the other.
func TestObjectsOfOneChangeAreOneRevision(t *testing.T) {
	w := newWaveFleet(t, 2)
	w.round()
	w.round()
	source := sourceWith("secret")
	w.must(w.objects.Get(t.Context(), client.ObjectKeyFromObject(source), source))
	metav1.SetMetaDataAnnotation(&source.ObjectMeta, v1alpha1.ChangeAnnotation, "42")
	source.Data["noProxy"] = []byte("of-42.example")
	w.must(w.objects.Update(t.Context(), source))
	w.round()
	status := w.round()
	problem := meta.FindStatusCondition(w.said().Conditions, v1alpha1.ConditionRolloutProblem)
	if status.Revision != 1 || problem == nil || problem.Reason != v1alpha1.ReasonChangeIncomplete || !strings.Contains(problem.Message, `"42" on Secret source`) {
		t.Errorf("revision %d, %+v", status.Revision, problem)
	}
	w.changeProxy(func(p *v1alpha1.CorporateProxy) {
		metav1.SetMetaDataAnnotation(&p.ObjectMeta, v1alpha1.ChangeAnnotation, "42")
		p.Spec.NoProxy = []v1alpha1.NoProxyEntry{{Value: "of-the-proxy.example"}}
	})
	for range 4 {
		status = w.round()
	}
	if problem := meta.FindStatusCondition(w.said().Conditions, v1alpha1.ConditionRolloutProblem); status.Revision != 2 || w.numbers() != "2 2" || problem != nil {
		t.Errorf("revision %d, the clusters have %s, %+v", status.Revision, w.numbers(), problem)
	}
	for i := range w.clusters {
		list := w.report(i).Status.NoProxy.Any
		if !strings.Contains(list, "of-42.example") || !strings.Contains(list, "of-the-proxy.example") {
			t.Errorf("c%d has %s", i, list)
		}
	}
}
