package wiring

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// mark ends the command of inject-node-files.
const mark = "# fairlead.io/node-files"

const notShown = "(its content is not shown)"

// diff has a line for each label, file, command or other field of the spec that differs. Machine templates may have
// passwords. So a value is shown only if it is a label or comes from the policy.
func diff(before, after *unstructured.Unstructured) []string {
	lines := []string{}
	old, labels := before.GetLabels(), after.GetLabels()
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		if value, ok := old[name]; !ok || value != labels[name] {
			lines = append(lines, fmt.Sprintf("+ metadata.labels[%s]: %s", name, labels[name]))
		}
	}
	return append(lines, fields("spec", before.Object["spec"], after.Object["spec"])...)
}

func fields(path string, before, after any) (lines []string) {
	if reflect.DeepEqual(before, after) {
		return nil
	}
	oldMap, wasMap := before.(map[string]any)
	newMap, isMap := after.(map[string]any)
	oldList, wasList := before.([]any)
	newList, isList := after.([]any)
	switch {
	case isMap && (wasMap || before == nil), wasMap && after == nil:
		all := map[string]any{}
		maps.Copy(all, oldMap)
		maps.Copy(all, newMap)
		for _, key := range slices.Sorted(maps.Keys(all)) {
			lines = append(lines, fields(path+"."+key, oldMap[key], newMap[key])...)
		}
	case isList && (wasList || before == nil), wasList && after == nil:
		lines = elements(path, oldList, newList)
	default:
		lines = []string{fmt.Sprintf("~ %s %s", path, notShown)}
	}
	return lines
}

// elements returns the elements of a list that were added or removed.
func elements(path string, before, after []any) (lines []string) {
	removed := subtract(before, after)
	for _, element := range subtract(after, before) {
		lines = append(lines, fmt.Sprintf("+ %s: %s", path, shown(element)))
	}
	for range removed {
		lines = append(lines, fmt.Sprintf("- %s: one %s", path, notShown))
	}
	if len(lines) == 0 {
		lines = []string{fmt.Sprintf("~ %s: in another order", path)}
	}
	return lines
}

// subtract returns list less the elements of other. An element that list has twice and other once stays once.
func subtract(list, other []any) (rest []any) {
	other = slices.Clone(other)
	for _, element := range list {
		at := slices.IndexFunc(other, func(o any) bool { return reflect.DeepEqual(o, element) })
		if at < 0 {
			rest = append(rest, element)
			continue
		}
		other = slices.Delete(other, at, at+1)
	}
	return rest
}

// shown returns a file that comes from a Secret, or the policy's command.
func shown(element any) string {
	if command, ok := element.(string); ok && strings.HasSuffix(command, mark) {
		return command
	}
	file, _ := element.(map[string]any)
	secret, key := contentFrom(file)
	if secret == "" {
		return "one " + notShown
	}
	return fmt.Sprintf("%v from Secret %s, %s", file["path"], secret, key)
}
