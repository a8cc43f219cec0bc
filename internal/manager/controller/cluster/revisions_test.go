package cluster

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/revision"
	"github.com/fairlead-io/fairlead/internal/manager/controller/settings"
)

func TestFiveRevisionsAreKeptAndThoseThatClustersHave(t *testing.T) {
	w := newWaveFleet(t, 3)
	w.round()
	for i := range 8 {
		w.setPassword(fmt.Sprint("password-", i))
		for range 4 {
			w.round()
		}
	}
	known, err := w.Waves.Revisions.All(t.Context(), "default")
	w.must(err)
	var numbers []int64
	for _, s := range known {
		numbers = append(numbers, s.Number)
	}
	if fmt.Sprint(numbers) != "[5 6 7 8 9]" {
		t.Errorf("revisions %v are kept", numbers)
	}
}

func TestThePublicHalfOfARevisionHasNoPassword(t *testing.T) {
	w := newWaveFleet(t, 1)
	w.round()
	configMap := &corev1.ConfigMap{}
	w.must(w.objects.Get(t.Context(), types.NamespacedName{Namespace: "system", Name: revision.Name("default", 1)}, configMap))
	if text := fmt.Sprint(configMap); strings.Contains(text, "old-password") || !strings.Contains(text, "corp.example") {
		t.Error(text)
	}
}

// What was once rejected is known as such, though nobody keeps its password.
func TestOfARejectedRevisionThePublicHalfIsKept(t *testing.T) {
	w := newWaveFleet(t, 3)
	w.round()
	w.setPassword("rejected")
	w.round()
	all, err := w.Waves.Revisions.All(t.Context(), "default")
	w.must(err)
	rejected := all[1].Digest
	w.must(w.objects.Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: revision.ControlName("default")}, Data: map[string]string{revision.RejectedKey: rejected},
	}))
	for i := range 8 {
		w.setPassword(fmt.Sprint("password-", i))
		for range 4 {
			w.round()
		}
	}
	name := types.NamespacedName{Namespace: "system", Name: revision.Name("default", 2)}
	w.must(w.objects.Get(t.Context(), name, &corev1.ConfigMap{}))
	if err := w.objects.Get(t.Context(), name, &corev1.Secret{}); err == nil {
		t.Error("the Secret is kept")
	}
	if c := meta.FindStatusCondition(w.said().Conditions, v1alpha1.ConditionRolloutProblem); c != nil {
		t.Errorf("%+v", c)
	}
}

func TestASecretOfARevisionThatWasChangedIsNotGivenToClusters(t *testing.T) {
	w := newWaveFleet(t, 2)
	w.round()
	w.round()
	secret := &corev1.Secret{}
	name := types.NamespacedName{Namespace: "system", Name: revision.Name("default", 1)}
	w.must(w.objects.Get(t.Context(), name, secret))
	secret.Data["source.http"] = []byte("http://me:somebodys@elsewhere.example:3128")
	w.must(w.objects.Update(t.Context(), secret))
	w.restartWaves()
	w.round()
	all, err := w.Waves.Revisions.All(t.Context(), "default")
	w.must(err)
	if all[0].Broken == nil || all[len(all)-1].Number != 2 {
		t.Errorf("%v, %d revisions", all[0].Broken, len(all))
	}
}

// A process ends between the two halves of a revision.
func TestASecretWithoutItsConfigMapGoes(t *testing.T) {
	w := newWaveFleet(t, 1)
	w.round()
	name := metav1.ObjectMeta{Namespace: "system", Name: revision.Name("default", 7), Labels: map[string]string{v1alpha1.RevisionLabel: "7"}}
	w.must(w.objects.Create(t.Context(), &corev1.Secret{ObjectMeta: name}))
	w.round()
	if err := w.objects.Get(t.Context(), client.ObjectKey{Namespace: "system", Name: name.Name}, &corev1.Secret{}); err == nil {
		t.Error("it is kept")
	}
}

// The cache may have the Secret before the ConfigMap: only the API server says that a ConfigMap is gone.
func TestASecretStaysWhoseConfigMapTheCacheHasNotYet(t *testing.T) {
	w := newWaveFleet(t, 1)
	w.round()
	w.round()
	late := interceptor.NewClient(w.objects, interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if _, maps := list.(*corev1.ConfigMapList); maps {
				return nil
			}
			return c.List(ctx, list, opts...)
		},
	})
	server := interceptor.NewClient(w.objects, interceptor.Funcs{ // the fake API server selects by no name
		List: func(_ context.Context, _ client.WithWatch, list client.ObjectList, _ ...client.ListOption) error {
			return meta.SetList(list, []runtime.Object{&metav1.PartialObjectMetadata{}})
		},
	})
	r := &settings.Revisions{Client: late, Live: server, Namespace: "system", Key: w.Key}
	w.must(r.ForgetHalves(t.Context()))
	w.must(w.objects.Get(t.Context(), client.ObjectKey{Namespace: "system", Name: revision.Name("default", 1)}, &corev1.Secret{}))
}
