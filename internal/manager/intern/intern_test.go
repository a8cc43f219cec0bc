package intern

import (
	"maps"
	"reflect"
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

func TestTheSamePairsAreKeptOnce(t *testing.T) {
	one := Pairs(map[string]string{"a": "1", "b": "2"})
	for _, other := range []map[string]string{{"b": "2", "a": "1"}, {"a": "1"}, {"a": "1", "b": "3"}, {"a": `1" "b"="2`}, nil} {
		kept := Pairs(other)
		if !maps.Equal(kept, other) {
			t.Errorf("%v became %v", other, kept)
		}
		if same := reflect.ValueOf(one).Pointer() == reflect.ValueOf(kept).Pointer(); same != maps.Equal(one, other) {
			t.Errorf("%v is the same as %v: %t", other, one, same)
		}
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
