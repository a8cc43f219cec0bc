package provider

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// managedBy marks an infrastructure object that its provider leaves alone since something else reconciles
// it (Cluster API contract for infrastructure clusters): what the provider always writes may be absent.
const managedBy = "cluster.x-k8s.io/managed-by"

// Extract reads a row's facts from an infrastructure object, as unstructured.Unstructured holds it. It
// fails for nothing: what is absent is absent, or Missing where required; what cannot be read is a
// Problem. Equal input gives equal output, in the order of the row and of the object's lists. The object
// is only read.
func Extract(row Row, object map[string]any) Facts {
	facts := Facts{
		Source: row.Source, Group: row.Group, Kind: row.Kind,
		Metadata: slices.Clone(row.Metadata), Domains: slices.Clone(row.Domains),
	}
	for _, fact := range row.Facts {
		found := facts.read(fact, object)
		switch {
		case found || !fact.Required:
		case externallyManaged(object):
			facts.problem(fact, strings.Join(fact.Paths, " or "), errors.New("is not there, and not waited for since the object is managed externally"))
		default:
			facts.Missing = append(facts.Missing, fact.Name)
		}
	}
	return facts
}

// read adds what the first of the fact's paths yields that yields anything.
func (f *Facts) read(fact Fact, object map[string]any) bool {
	before := len(f.Values)
	for _, text := range fact.Paths {
		steps, err := parsePath(text)
		if err != nil { // only in a row that Parse has not seen
			f.problem(fact, text, err)
			continue
		}
		steps.walk(object, "",
			func(at string, value any) { f.value(fact, at, value) },
			func(at string, err error) { f.problem(fact, at, err) })
		if len(f.Values) > before {
			return true
		}
	}
	return false
}

// value adds the entry for a value that a path led to, once for each fact.
func (f *Facts) value(fact Fact, at string, value any) {
	entry, err := fact.entry(value)
	if err != nil {
		f.problem(fact, at, err)
		return
	}
	same := func(v Value) bool { return v.Fact == fact.Name && v.Entry == entry }
	if entry != "" && !slices.ContainsFunc(f.Values, same) {
		f.Values = append(f.Values, Value{Fact: fact.Name, Path: at, Entry: entry})
	}
}

func (f *Facts) problem(fact Fact, at string, err error) {
	f.Problems = append(f.Problems, Problem{Fact: fact.Name, Path: at, Reason: err.Error()})
}

// entry makes the NO_PROXY entry of a value; "" for an empty one, which is how Go types write absence.
func (fact Fact) entry(value any) (string, error) {
	if fact.Network != nil {
		return fact.Network.cidr(value)
	}
	text, ok := value.(string)
	if !ok {
		return "", wrongShape(value, "a string")
	}
	if text == "" {
		return "", nil
	}
	if fact.Entry != "" {
		text = strings.Replace(fact.Entry, placeholder, text, 1)
	}
	read, ok := canonical[fact.Type]
	if !ok {
		return "", fmt.Errorf("has the unknown type %q", string(fact.Type))
	}
	return read(text)
}

// cidr joins the address and the prefix length that an object holds in two fields.
func (n Network) cidr(value any) (string, error) {
	fields, ok := value.(map[string]any)
	if !ok {
		return "", wrongShape(value, "an object")
	}
	address, ok := fields[n.Address].(string)
	if !ok || address == "" {
		return "", fmt.Errorf("has no address in field %s", n.Address)
	}
	bits, ok := wholeNumber(fields[n.Prefix])
	if !ok {
		return "", fmt.Errorf("has no whole number in field %s", n.Prefix)
	}
	return canonicalCIDR(address + "/" + strconv.FormatInt(bits, 10))
}

// wholeNumber reads what the decoders make of a JSON number: int64 in apimachinery, float64 elsewhere.
func wholeNumber(value any) (int64, bool) {
	switch number := value.(type) {
	case int64:
		return number, true
	case int:
		return int64(number), true
	case float64:
		return int64(number), number == math.Trunc(number) && math.Abs(number) < 1<<31
	}
	return 0, false
}

func externallyManaged(object map[string]any) bool {
	metadata, _ := object["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	_, ok := annotations[managedBy]
	return ok
}

// Facts are the values that one cluster has from its provider. The zero value is for a kind without a row.
type Facts struct {
	Source            string    // of the row: the table's version, or a user's ConfigMap
	Group, Kind       string    // of the row
	Metadata, Domains []string  // the row's entries, which hold for every cluster of the kind
	Values            []Value   // the entries read from the object
	Missing           []string  // required facts that the object does not have yet: as long as there are any, the list is half-known
	Problems          []Problem // what the object has but cannot be used
}

// Value is one entry that an infrastructure object gave.
type Value struct {
	Fact  string
	Path  string // where in the object it stood, with the indexes and keys: spec.network.subnets[1].cidrBlock
	Entry string // of NO_PROXY
}

// Problem is a part of an object that was not understood. It never shows the value: a path that is wrong
// may lead to something secret, and problems end up in conditions.
type Problem struct {
	Fact, Path, Reason string
}

func (p Problem) String() string {
	return fmt.Sprintf("fact %s: %s %s", p.Fact, p.Path, p.Reason)
}
