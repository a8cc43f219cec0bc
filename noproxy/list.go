package noproxy

import (
	"slices"
	"strings"
)

// Layer says which part of the configuration an entry comes from.
type Layer string

// The layers, in the order in which they are merged.
const (
	LayerServiceDomain Layer = "ServiceDomain"
	LayerServiceCIDR   Layer = "ServiceCIDR"
	LayerPodCIDR       Layer = "PodCIDR"
	LayerEndpoint      Layer = "ControlPlaneEndpoint"
	LayerProvider      Layer = "ProviderFacts"
	LayerInstallation  Layer = "Installation"
	LayerCluster       Layer = "Cluster"
	LayerBuiltin       Layer = "Builtin"
)

// Source is where an entry was written: a layer, and the object and field in
// words for people, such as "Cluster org-acme/c1" and "spec.noProxy[2]".
type Source struct {
	Layer  Layer
	Object string
	Field  string
}

// Item is an entry with every place it was written at, the deciding one first.
type Item struct {
	Entry   Entry
	Sources []Source
}

// List is a NO_PROXY list in order.
type List []Item

// Merge joins lists in order. The first occurrence of an entry keeps its place;
// later ones only add their source. A Host and a Domain of one name are written
// alike, so they merge into the wider Domain.
func Merge(lists ...List) List {
	total := 0
	for _, list := range lists {
		total += len(list)
	}
	if total == 0 {
		return nil
	}
	merged, place := make(List, 0, total), make(map[string]int, total)
	for _, list := range lists {
		for _, item := range list {
			text := item.Entry.String()
			at, ok := place[text]
			if !ok {
				place[text] = len(merged)
				merged = append(merged, Item{item.Entry, slices.Clip(item.Sources)})
				continue
			}
			merged[at].Sources = append(merged[at].Sources, item.Sources...)
			if item.Entry.Kind == Domain {
				merged[at].Entry.Kind = Domain
			}
		}
	}
	return merged
}

// Without returns the list less the entries of that spelling.
func (l List) Without(entry Entry) List {
	text := entry.String()
	return slices.DeleteFunc(slices.Clone(l), func(item Item) bool { return item.Entry.String() == text })
}

// String returns the list as clients read it: canonical spellings joined by
// single commas, no blank, no empty element.
func (l List) String() string { return strings.Join(l.Texts(), ",") }

// Texts returns the canonical spellings, in order.
func (l List) Texts() []string {
	texts := make([]string, len(l))
	for i, item := range l {
		texts[i] = item.Entry.String()
	}
	return texts
}
