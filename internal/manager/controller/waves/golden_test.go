package waves

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

// Another hash of a ProxyOverride that did not change would be a change of its cluster, which an upgrade makes in every wave.
func TestTheHashOfAnOverrideStaysWhatItWas(t *testing.T) {
	override := &v1alpha1.ProxyOverride{Spec: v1alpha1.ProxyOverrideSpec{
		Mode: "Proxied", NoProxy: []v1alpha1.NoProxyEntry{{Value: "a.example", Reason: "for people"}, {Value: "b.example"}}, Exclude: []string{"localhost"},
	}}
	if got, want := OverrideHash(override), "f112e152807de65f"; got != want {
		t.Errorf("%s, not %s", got, want)
	}
}

func TestAnEndDoesNotChangeTheHashOfAnOverride(t *testing.T) {
	plain := &v1alpha1.ProxyOverride{Spec: v1alpha1.ProxyOverrideSpec{Mode: "Proxied", NoProxy: []v1alpha1.NoProxyEntry{{Value: "a.example", Reason: "moves"}}}}
	ending := plain.DeepCopy()
	ending.Spec.NoProxy[0] = v1alpha1.NoProxyEntry{Value: "a.example", Owner: "team", Reason: "moves", Until: &metav1.Time{Time: time.Now()}}
	ending.Spec.Until, ending.Spec.Owner, ending.Spec.Reason = &metav1.Time{Time: time.Now()}, "lead", "tries"
	if a, b := OverrideHash(plain), OverrideHash(ending); a != b || a == "" {
		t.Errorf("%s, %s", a, b)
	}
}
