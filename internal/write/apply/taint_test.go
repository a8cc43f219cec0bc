package apply

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

const key = "fairlead.io/relay"

var (
	noSchedule = corev1.Taint{Key: key, Effect: corev1.TaintEffectNoSchedule}
	noExecute  = corev1.Taint{Key: key, Effect: corev1.TaintEffectNoExecute}
	prefer     = corev1.Taint{Key: key, Effect: corev1.TaintEffectPreferNoSchedule}
	dedicated  = corev1.Taint{Key: "dedicated", Effect: corev1.TaintEffectNoSchedule}
	unready    = corev1.Taint{Key: "unready", Effect: corev1.TaintEffectNoSchedule}
)

func TestEachTaintOfTheKeyIsRemovedAndNoOther(t *testing.T) {
	for name, taints := range map[string][]corev1.Taint{
		"none":            nil,
		"others":          {dedicated, unready},
		"one":             {dedicated, noSchedule, unready},
		"two effects":     {noSchedule, noExecute},
		"two with others": {dedicated, noSchedule, noExecute, unready},
		"two apart":       {noExecute, dedicated, noSchedule, unready},
	} {
		clients := fake.NewClientset(node(taints))
		if err := RemoveTaint(t.Context(), clients, "n", key); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		found, err := clients.CoreV1().Nodes().Get(t.Context(), "n", metav1.GetOptions{})
		want := slices.DeleteFunc(slices.Clone(taints), func(taint corev1.Taint) bool { return taint.Key == key })
		if err != nil || !slices.Equal(found.Spec.Taints, want) {
			t.Errorf("%s: %v, %v", name, found.Spec.Taints, err)
		}
	}
}

// Somebody writes the node between our look and our patch.
func TestTaintsThatOthersWriteMeanwhileStay(t *testing.T) {
	for name, test := range map[string]struct {
		then, want []corev1.Taint
		fails      bool
	}{
		"one is added at the end": {[]corev1.Taint{noSchedule, noExecute, unready}, []corev1.Taint{unready}, false},
		"ours is added once more": {[]corev1.Taint{noSchedule, noExecute, unready, prefer}, []corev1.Taint{unready}, false},
		"one is added before":     {[]corev1.Taint{unready, noSchedule, noExecute}, []corev1.Taint{unready, noSchedule, noExecute}, true},
		"ours are gone":           {[]corev1.Taint{unready, dedicated}, []corev1.Taint{unready, dedicated}, true},
	} {
		clients := fake.NewClientset(node([]corev1.Taint{noSchedule, noExecute}))
		written := false
		clients.PrependReactor("patch", "nodes", func(clienttesting.Action) (bool, runtime.Object, error) {
			if written {
				return false, nil, nil
			}
			written = true
			return false, nil, clients.Tracker().Update(corev1.SchemeGroupVersion.WithResource("nodes"), node(test.then), "")
		})
		err := RemoveTaint(t.Context(), clients, "n", key)
		found, _ := clients.CoreV1().Nodes().Get(t.Context(), "n", metav1.GetOptions{})
		if (err != nil) != test.fails || apierrors.IsNotFound(err) || !slices.Equal(found.Spec.Taints, test.want) {
			t.Errorf("%s: %v, %v", name, found.Spec.Taints, err)
		}
	}
}

func node(taints []corev1.Taint) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Spec: corev1.NodeSpec{Taints: taints}}
}
