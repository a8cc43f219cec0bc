// Package intern keeps one copy of values that many objects of a cache share. [unique.Make] would keep none: it forgets
// a text when nobody holds its handle, and an object of the API has no room for one.
package intern

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// Map makes a value for each key once. Nobody may change it. After Most keys it begins anew, and what was given before stays.
type Map[K comparable, V any] struct {
	Most int

	mu sync.Mutex
	by map[K]V
}

// Get returns the value of a key.
func (m *Map[K, V]) Get(key K, create func() V) V {
	m.mu.Lock()
	defer m.mu.Unlock()
	if value, ok := m.by[key]; ok {
		return value
	}
	if m.by == nil || len(m.by) >= m.Most {
		m.by = map[K]V{}
	}
	value := create()
	m.by[key] = value
	return value
}

func (m *Map[K, V]) find(key K) (value V, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	value, ok = m.by[key]
	return value, ok
}

// texts have room for the namespaces of 5,000 clusters, and what conditions say of them.
var texts = Map[string, string]{Most: 20_000}

// Text returns the one copy of a text.
func Text[T ~string](text T) T {
	if kept, ok := texts.find(string(text)); ok {
		return T(kept)
	}
	own := strings.Clone(string(text)) // or else the map would hold what the text is a part of
	return T(texts.Get(own, func() string { return own }))
}

var pairs = Map[string, map[string]string]{Most: 1000}

// Pairs returns the one copy of labels or annotations that most objects have alike. Nobody may change it.
func Pairs(of map[string]string) map[string]string {
	if len(of) == 0 {
		return nil
	}
	var key strings.Builder
	for _, name := range slices.Sorted(maps.Keys(of)) {
		fmt.Fprintf(&key, "%q=%q ", name, of[name]) // no text that somebody makes up reads as two pairs
	}
	return pairs.Get(key.String(), func() map[string]string { return of })
}
