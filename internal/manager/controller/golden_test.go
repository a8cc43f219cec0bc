package controller

import (
	"testing"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

// Another hash of a ProxyOverride that did not change would be a change of its cluster, which an upgrade makes in every wave.
func TestTheHashOfAnOverrideStaysWhatItWas(t *testing.T) {
	override := &v1alpha1.ProxyOverride{Spec: v1alpha1.ProxyOverrideSpec{
		Mode: "Proxied", NoProxy: []v1alpha1.NoProxyEntry{{Value: "a.example", Reason: "for people"}, {Value: "b.example"}}, Exclude: []string{"localhost"},
	}}
	if got, want := overrideHash(override), "f112e152807de65f"; got != want {
		t.Errorf("%s, not %s", got, want)
	}
}
