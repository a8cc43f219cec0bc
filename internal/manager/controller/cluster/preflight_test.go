package cluster

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/probe"
)

// newProbedFleet has revision 1 in all clusters, and spec.probes.
func newProbedFleet(t *testing.T, clusters int) *waveFleetTest {
	t.Helper()
	w := newWaveFleet(t, clusters)
	w.changeProxy(func(p *v1alpha1.CorporateProxy) {
		p.Spec.Probes = &v1alpha1.Probes{MustReach: []v1alpha1.ProbeTarget{{URL: "http://a.example"}}}
	})
	w.round()
	w.round()
	return w
}

// task returns what the preflight is to try.
func (w *waveFleetTest) task() (probe.Task, bool) {
	w.Helper()
	secret := &corev1.Secret{}
	err := w.objects.Get(w.Context(), client.ObjectKey{Namespace: "system", Name: probe.PreflightName}, secret)
	if apierrors.IsNotFound(err) || err == nil && secret.Data["default"] == nil {
		return probe.Task{}, false
	}
	w.must(err)
	task, err := probe.ParseTask(secret.Data["default"])
	w.must(err)
	return task, true
}

// answers writes the preflight's answer to a task.
func (w *waveFleetTest) answers(task probe.Task, state probe.State, reason probe.Reason) {
	w.Helper()
	next := time.Now().Add(time.Minute)
	a := probe.Answer{
		Revision: task.Candidate.Revision, Digest: task.Candidate.Digest, State: state, Reason: reason, Message: "http://a.example: because", Time: time.Now(), Next: &next,
	}
	configMap := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: probe.PreflightName}, Data: map[string]string{"default": a.Text()}}
	err := w.objects.Create(w.Context(), configMap)
	if apierrors.IsAlreadyExists(err) {
		err = w.objects.Update(w.Context(), configMap)
	}
	w.must(err)
}

func (w *waveFleetTest) reachable() metav1.Condition {
	w.Helper()
	if c := meta.FindStatusCondition(w.said().Conditions, v1alpha1.ConditionProxyReachable); c != nil {
		return *c
	}
	return metav1.Condition{}
}

func TestARevisionIsTriedBeforeTheFirstClusterGetsIt(t *testing.T) {
	w := newProbedFleet(t, 3)
	if _, asked := w.task(); asked || w.reachable().Reason != v1alpha1.ReasonNotTried {
		t.Fatalf("revision 1, which clusters have: %+v", w.reachable())
	}
	w.setPassword("wrong")
	w.round()
	task, asked := w.task()
	if w.numbers() != "1 1 1" || !asked || task.Candidate.Revision != 2 || task.Control == nil || task.Control.Revision != 1 ||
		!strings.Contains(task.Candidate.HTTP, "wrong") || !strings.Contains(task.Control.HTTP, "old-password") || len(task.Targets) != 1 {
		t.Fatalf("%s, %v %v %v", w.numbers(), task.Candidate, task.Control, task.Targets)
	}
	w.answers(task, probe.Failed, probe.CredentialsRefused)
	status := w.round()
	if c := w.reachable(); w.numbers() != "1 1 1" || c.Status != metav1.ConditionFalse || c.Reason != "CredentialsRefused" || !strings.Contains(status.Message, "correct the user") {
		t.Fatalf("%s, %+v, %+v", w.numbers(), c, status)
	}
	w.restartWaves() // it is in no memory
	if w.round(); w.numbers() != "1 1 1" || w.reachable().Reason != "CredentialsRefused" {
		t.Fatalf("%s, %+v", w.numbers(), w.reachable())
	}

	w.setPassword("right")
	w.round()
	if task, _ = w.task(); task.Candidate.Revision != 3 || task.Control.Revision != 1 {
		t.Fatalf("%v %v", task.Candidate, task.Control)
	}
	w.answers(task, probe.Held, "")
	w.round()
	if w.numbers() != "3 1 1" || w.reachable().Status != metav1.ConditionTrue {
		t.Fatalf("%s, %+v", w.numbers(), w.reachable())
	}
	for cluster, revision := range map[string]string{"c0": "default/3/", "c1": "default/1/"} {
		if text := w.valuesOf(cluster); !strings.Contains(text, "    revision: "+revision) {
			t.Errorf("%s is not told that it has revision %s:\n%s", cluster, revision, text)
		}
	}
	for range 3 {
		w.round()
	}
	if _, asked := w.task(); asked || w.numbers() != "3 3 3" || w.reachable().Status != metav1.ConditionTrue {
		t.Errorf("the Secret keeps a password, or the condition is lost: %s, %+v", w.numbers(), w.reachable())
	}
}

func TestNobodyIsToldAPasswordWhereNothingIsTried(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*v1alpha1.CorporateProxy)
		off    bool
		reason string
	}{
		"no probes": {func(p *v1alpha1.CorporateProxy) { p.Spec.Probes = nil }, false, ""},
		"Never":     {func(p *v1alpha1.CorporateProxy) { p.Spec.Probes.BeforeChange = v1alpha1.BeforeChangeNever }, false, v1alpha1.ReasonNotTried},
		"off":       {nil, true, v1alpha1.ReasonNotTried},
		"no waves":  {func(p *v1alpha1.CorporateProxy) { p.Spec.Rollout = nil }, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newProbedFleet(t, 2)
			w.setPassword("wrong")
			w.round()
			if _, asked := w.task(); !asked {
				t.Fatal("nothing is to be tried")
			}
			if test.change != nil {
				w.changeProxy(test.change)
			}
			w.Waves.Preflight.Enabled = !test.off
			if name == "no waves" {
				_, err := w.Waves.Reconcile(t.Context(), ctrl.Request{})
				w.must(err)
			} else if w.round(); w.reachable().Reason != test.reason || !strings.HasPrefix(w.numbers(), "2") && !strings.HasPrefix(w.numbers(), "3") {
				t.Errorf("%s, %+v", w.numbers(), w.reachable())
			}
			if _, asked := w.task(); asked {
				t.Error("the Secret keeps a password")
			}
		})
	}
}
