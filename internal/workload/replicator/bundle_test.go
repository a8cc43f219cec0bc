package replicator

import (
	"strings"
	"testing"
	"unsafe"

	corev1 "k8s.io/api/core/v1"
)

func TestTheCacheHoldsTheBundleOnceForAllCopies(t *testing.T) {
	var cached []*corev1.Secret
	for object, by := range caches().ByObject {
		if _, secrets := object.(*corev1.Secret); !secrets {
			continue
		}
		for _, text := range []string{"PEM", "PEM", "another", "PEM"} {
			transformed, err := by.Transform(secretOf(withKey(settings("http://p:1"), "ca.crt", text)))
			if err != nil || string(transformed.(*corev1.Secret).Data["ca.crt"]) != text {
				t.Fatalf("%s became another: %v", text, err)
			}
			cached = append(cached, transformed.(*corev1.Secret))
		}
		if plain, err := by.Transform(secretOf(settings("http://p:1"))); err != nil || len(plain.(*corev1.Secret).Data) != 6 {
			t.Errorf("one without a bundle: %v", err)
		}
	}
	if len(cached) != 4 || &cached[0].Data["ca.crt"][0] != &cached[1].Data["ca.crt"][0] {
		t.Error("equal bundles are held twice")
	}
}

func TestTheCacheHoldsTheBundleOnceForAllConfigMaps(t *testing.T) {
	for object, by := range caches().ByObject {
		if _, configMaps := object.(*corev1.ConfigMap); !configMaps {
			continue
		}
		var cached []string
		for _, text := range []string{"PEM", "PEM", "another", "PEM"} {
			transformed, err := by.Transform(bundleOf(strings.Clone(text)))
			if err != nil || transformed.(*corev1.ConfigMap).Data["ca.crt"] != text {
				t.Fatalf("%s became another: %v", text, err)
			}
			cached = append(cached, transformed.(*corev1.ConfigMap).Data["ca.crt"])
		}
		if unsafe.StringData(cached[0]) != unsafe.StringData(cached[1]) {
			t.Error("equal bundles are held twice")
		}
		if plain, err := by.Transform(&corev1.ConfigMap{}); err != nil || plain.(*corev1.ConfigMap).Data != nil {
			t.Errorf("one without a bundle: %v", err)
		}
		return
	}
	t.Error("ConfigMaps are not watched")
}
