package cluster

import (
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/manager/controller/decide"
)

// Who writes a ProxyOverride sees in it whether it is in effect, and waits for that with kubectl wait.
func TestAProxyOverrideSaysWhetherItIsAccepted(t *testing.T) {
	past := metav1.NewTime(time.Now().Add(-time.Hour))
	for name, example := range map[string]struct {
		spec                  v1alpha1.ProxyOverrideSpec
		cluster               string // c0 if empty
		change                func(*countedFleet)
		status, reason, names string
	}{
		"in effect":             {spec: overrideOf("a.example"), status: "True", reason: "Accepted"},
		"no Cluster":            {spec: overrideOf("a.example"), cluster: "c00", status: "False", reason: "NoCluster", names: "ns/c00"},
		"too broad":             {spec: overrideOf("com"), status: "False", reason: "NotDelegated", names: "spec.noProxy[0].value"},
		"no entry":              {spec: overrideOf("a b"), status: "False", reason: "InvalidOverride", names: "spec.noProxy[0].value"},
		"Direct, not delegated": {spec: v1alpha1.ProxyOverrideSpec{Mode: v1alpha1.ModeDirect}, status: "False", reason: "NotDelegated", names: "spec.mode"},
		"it has ended":          {spec: v1alpha1.ProxyOverrideSpec{Until: &past, Owner: "o", Reason: "r"}, status: "False", reason: "Ended", names: "ended at"},
		"the cluster has no list": {
			spec: overrideOf("a.example"), status: "Unknown", reason: "SourceMissing", names: "source",
			change: func(f *countedFleet) {
				f.changeProxy("default", func(p *v1alpha1.CorporateProxy) { p.Spec.Source.ValuesRef.Name = "gone" })
			},
		},
		"nothing selects the cluster": {
			spec: overrideOf("a.example"), status: "False", reason: "NotSelected",
			change: func(f *countedFleet) {
				f.selectNobody()
			},
		},
		"nothing selects the cluster any more": {
			spec: overrideOf("a.example"), status: "False", reason: "NotSelected",
			change: func(f *countedFleet) {
				f.reconcileAll(1)
				f.selectNobody()
			},
		},
		"a Secret is refused": {
			spec: overrideOf("a.example"), status: "Unknown", reason: "Refused", names: "a policy",
			change: func(f *countedFleet) {
				f.fail["apply"] = apierrors.NewForbidden(corev1.Resource("secrets"), "c0", errors.New("a policy says no"))
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			key := clusterKey("c0")
			if example.cluster != "" {
				key = clusterKey(example.cluster)
			}
			f := newCountedFleet(t, 1, &v1alpha1.ProxyOverride{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, Generation: 3}, Spec: example.spec})
			if example.change != nil {
				example.change(f)
			}
			for range 2 {
				if _, err := f.reconcile(t.Context(), ctrl.Request{NamespacedName: key}); err != nil {
					t.Fatal(err)
				}
			}
			override := &v1alpha1.ProxyOverride{}
			if err := f.objects.Get(t.Context(), key, override); err != nil {
				t.Fatal(err)
			}
			is := meta.FindStatusCondition(override.Status.Conditions, v1alpha1.ConditionAccepted)
			if is == nil || string(is.Status) != example.status || is.Reason != example.reason || !strings.Contains(is.Message, example.names) || is.ObservedGeneration != 3 {
				t.Errorf("%+v, want %s %s …%s…", is, example.status, example.reason, example.names)
			}
			if writes := f.requests["status of ProxyOverride"]; writes > 2 {
				t.Errorf("it is written %d times", writes)
			}
		})
	}
}

func (f *countedFleet) selectNobody() {
	f.Helper()
	f.changeProxy("default", func(p *v1alpha1.CorporateProxy) {
		p.Spec.ClusterSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"other": "one"}}
	})
}

func overrideOf(entry string) v1alpha1.ProxyOverrideSpec {
	return v1alpha1.ProxyOverrideSpec{NoProxy: []v1alpha1.NoProxyEntry{{Value: entry}}}
}

// What is paused or waits for its wave says nothing of the new generation.
func TestAProxyOverrideThatWaitsIsNotJudged(t *testing.T) {
	for _, d := range []decide.Decision{{Held: true}, {Paused: true}} {
		if is := decide.Accepted(decide.State{Wish: &v1alpha1.ProxyOverride{}}, d, metav1.Condition{}); is != nil {
			t.Errorf("%+v: %+v", d, is)
		}
	}
}

func TestAConditionThatIsRefusedHoldsUpNothing(t *testing.T) {
	end := metav1.NewTime(time.Now().Add(30 * time.Second))
	spec := overrideOf("a.example")
	spec.Until, spec.Owner, spec.Reason = &end, "o", "r"
	f := newCountedFleet(t, 1, &v1alpha1.ProxyOverride{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c0", Generation: 1}, Spec: spec})
	f.fail["status of ProxyOverride"] = apierrors.NewForbidden(corev1.Resource("proxyoverrides"), "c0", errors.New("a policy says no"))
	result, err := f.Reconcile(t.Context(), ctrl.Request{NamespacedName: clusterKey("c0")})
	if err != nil || result.RequeueAfter == 0 || result.RequeueAfter > 31*time.Second {
		t.Errorf("the override ends in 30 s; next look %v, error %v", result.RequeueAfter, err)
	}
}

// Another Cluster of the name is no missing one.
func TestNoClusterIsSaidOnlyWhereThereIsNone(t *testing.T) {
	f := newCountedFleet(t, 1, &v1alpha1.ProxyOverride{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c0", Generation: 1}, Spec: overrideOf("a.example")})
	f.reconcileAll(1)
	before := f.requests["status of ProxyOverride"]
	if err := f.objects.Delete(t.Context(), aCluster(0)); err != nil {
		t.Fatal(err)
	}
	again := aCluster(0)
	again.UID = "another"
	if err := f.objects.Create(t.Context(), again); err != nil {
		t.Fatal(err)
	}
	f.reconcileAll(1)
	f.want("writes of the condition", f.requests["status of ProxyOverride"], before)
}
