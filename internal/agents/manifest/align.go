package manifest

import (
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// align tells for each element of a list which one of the old list it was, -1 for a new one; in their order.
func align(have, want []any) []int {
	from := make([]int, len(want))
	for i := range from {
		from[i] = -1
	}
	begin := 0
	for begin < min(len(have), len(want)) && sameElement(have[begin], want[begin]) {
		from[begin] = begin
		begin++
	}
	oldEnd, newEnd := len(have), len(want)
	for oldEnd > begin && newEnd > begin && sameElement(have[oldEnd-1], want[newEnd-1]) {
		oldEnd, newEnd = oldEnd-1, newEnd-1
		from[newEnd] = oldEnd
	}
	alignMiddle(have[begin:oldEnd], want[begin:newEnd], func(was, is int) { from[begin+is] = begin + was })
	pairGaps(from, len(have))
	return from
}

// alignMiddle finds the longest common subsequence.
func alignMiddle(have, want []any, pair func(was, is int)) {
	length := make([][]int, len(have)+1)
	for i := range length {
		length[i] = make([]int, len(want)+1)
	}
	for i := len(have) - 1; i >= 0; i-- {
		for j := len(want) - 1; j >= 0; j-- {
			length[i][j] = max(length[i+1][j], length[i][j+1])
			if sameElement(have[i], want[j]) {
				length[i][j] = max(length[i][j], 1+length[i+1][j+1])
			}
		}
	}
	for i, j := 0, 0; i < len(have) && j < len(want); {
		switch {
		case sameElement(have[i], want[j]) && length[i][j] == 1+length[i+1][j+1]:
			pair(i, j)
			i, j = i+1, j+1
		case length[i][j] == length[i+1][j]:
			i++
		default:
			j++
		}
	}
}

// pairGaps takes elements for each other where as many new ones stand between two known ones as old ones did.
func pairGaps(from []int, oldLength int) {
	nextOld := 0
	for i := 0; i < len(from); {
		if from[i] >= 0 {
			nextOld = from[i] + 1
			i++
			continue
		}
		end, until := i, oldLength
		for end < len(from) && from[end] < 0 {
			end++
		}
		if end < len(from) {
			until = from[end]
		}
		for k := i; end-i == until-nextOld && k < end; k++ {
			from[k] = nextOld + k - i
		}
		i = end
	}
}

// sameElement reports whether b is a, changed or not. Elements of Kubernetes lists are told apart by name, objects also by kind.
func sameElement(a, b any) bool {
	left, ok := a.(map[string]any)
	right, alsoMap := b.(map[string]any)
	if ok && alsoMap {
		if one, other := identity(left), identity(right); one != "" || other != "" {
			return one == other
		}
	}
	return reflect.DeepEqual(a, b)
}

func identity(object map[string]any) string {
	if name, ok := object["name"].(string); ok {
		return name
	}
	u := unstructured.Unstructured{Object: object}
	if u.GetKind() == "" || u.GetName() == "" {
		return ""
	}
	return strings.Join([]string{u.GetKind(), u.GetNamespace(), u.GetName()}, "/")
}

// countKept counts the old elements that are still there.
func countKept(from []int) int {
	count := 0
	for _, i := range from {
		if i >= 0 {
			count++
		}
	}
	return count
}
