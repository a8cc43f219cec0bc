package provider

import "fmt"

// Facts are what is known of one cluster from its provider. The zero value is for a kind without a row.
type Facts struct {
	// Source is the source of the row: the table's version, or a user's ConfigMap.
	Source string
	// Group and Kind are of the row.
	Group, Kind string
	// Metadata and Domains are the row's entries, which hold for every cluster of the kind.
	Metadata, Domains []string
	// Values are the entries read from the object.
	Values []Value
	// Missing names the required facts that the object does not have yet: as long as there are any, the
	// list is half-known.
	Missing []string
	// Problems are what the object has but cannot be used.
	Problems []Problem
}

// Value is one entry that an infrastructure object gave.
type Value struct {
	Fact string
	// Path is where in the object it stood, with the indexes and keys: spec.network.subnets[1].cidrBlock.
	Path string
	// Entry is the NO_PROXY entry.
	Entry string
}

// Problem is a part of an object that was not understood. It never shows the value: a path that is wrong
// may lead to something secret, and problems end up in conditions.
type Problem struct {
	Fact, Path, Reason string
}

func (p Problem) String() string {
	return fmt.Sprintf("fact %s: %s %s", p.Fact, p.Path, p.Reason)
}
