package provider

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// A path leads into an object: field names with dots between them, of which each may be followed by []
// for every element of a list or {} for every value of a map, as in
//
//	spec.network.subnets[].secondaryCidrBlocks{}
type path []step

// step goes from a value to its field of that name or, without a name, to all its elements.
type step struct {
	field string
	each  string // "[]" or "{}"
}

var pathSegment = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9_-]*)((?:\[\]|\{\})*)$`)

// parsePath reads a path. It must begin with spec or status: those are where a provider writes facts.
func parsePath(text string) (path, error) {
	var steps path
	for segment := range strings.SplitSeq(text, ".") {
		match := pathSegment.FindStringSubmatch(segment)
		if match == nil {
			return nil, fmt.Errorf("path %q: segment %q is not a field name, optionally with [] or {}", text, segment)
		}
		steps = append(steps, step{field: match[1]})
		for each := match[2]; each != ""; each = each[2:] {
			steps = append(steps, step{each: each[:2]})
		}
	}
	if first := steps[0].field; first != "spec" && first != "status" {
		return nil, fmt.Errorf("path %q: begins with %q, not with spec or status", text, first)
	}
	return steps, nil
}

// walk calls found for every value that the path leads to from node, in the order of the lists and of
// the sorted keys of the maps, and failed where the path meets a value of another shape. What is absent
// or null is neither. at is where node is, for the calls.
func (p path) walk(node any, at string, found func(at string, value any), failed func(at string, err error)) {
	switch {
	case node == nil:
	case len(p) == 0:
		found(at, node)
	case p[0].each == "[]":
		list, ok := node.([]any)
		if !ok {
			failed(at, wrongShape(node, "a list"))
		}
		for i, element := range list {
			p[1:].walk(element, fmt.Sprintf("%s[%d]", at, i), found, failed)
		}
	case p[0].each == "{}":
		fields, ok := node.(map[string]any)
		if !ok {
			failed(at, wrongShape(node, "a map"))
		}
		for _, key := range slices.Sorted(maps.Keys(fields)) {
			p[1:].walk(fields[key], fmt.Sprintf("%s[%q]", at, key), found, failed)
		}
	default:
		fields, ok := node.(map[string]any)
		if !ok {
			failed(at, wrongShape(node, "an object"))
		}
		p[1:].walk(fields[p[0].field], strings.TrimPrefix(at+"."+p[0].field, "."), found, failed)
	}
}

// wrongShape describes a value without showing it: a wrong path may lead to a password.
func wrongShape(value any, want string) error {
	is := "something else"
	switch value.(type) {
	case string:
		is = "a string"
	case bool:
		is = "a boolean"
	case int, int32, int64, float64:
		is = "a number"
	case []any:
		is = "a list"
	case map[string]any:
		is = "an object"
	}
	return fmt.Errorf("is %s, not %s", is, want)
}
