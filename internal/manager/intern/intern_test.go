package intern

import (
	"runtime"
	"strconv"
	"strings"
	"testing"
	"unsafe"
)

func TestATextIsKeptOnceAcrossCollections(t *testing.T) {
	one := Text(strings.Clone("kube-system"))
	runtime.GC()
	runtime.GC()
	if other := Text(strings.Clone("kube-system")); unsafe.StringData(one) != unsafe.StringData(other) {
		t.Error("there are two copies")
	}
}

func TestAMapBeginsAnewAfterMostKeys(t *testing.T) {
	m := Map[string, int]{Most: 2}
	made := 0
	for i := range 5 {
		m.Get(strconv.Itoa(i), func() int { made++; return i })
	}
	if len(m.by) > 2 || made != 5 {
		t.Errorf("%d are kept, %d were made", len(m.by), made)
	}
}
