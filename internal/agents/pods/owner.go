package pods

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Owner names who makes pods, in the namespace of the pod. A static pod's is its Node.
type Owner struct {
	Namespace string
	Kind      string
	Name      string
}

// ControllerOf returns the owner that manages an object; of one that has none, the object itself.
func ControllerOf(kind string, object metav1.Object) Owner {
	if ref := metav1.GetControllerOfNoCopy(object); ref != nil {
		return Owner{object.GetNamespace(), ref.Kind, ref.Name}
	}
	return Owner{object.GetNamespace(), kind, object.GetName()}
}

func (c Cluster) owner(pod *corev1.Pod) Owner {
	owner := ControllerOf("Pod", pod)
	if above, ok := c.Owners[owner]; ok {
		return above
	}
	return owner
}

// Row is a finding about the pods of one owner.
type Row struct {
	Owner
	Finding
	Pods []string
}

// Rows judges all pods, and joins those of one owner with the same finding. A row has the containers of
// any of them.
func (c Cluster) Rows() []Row {
	type key struct {
		owner   Owner
		class   Class
		reason  Reason
		message string
	}
	found := map[key]*Row{}
	for i := range c.Pods {
		pod := &c.Pods[i]
		owner := c.owner(pod)
		for _, f := range c.Judge(pod) {
			k := key{owner, f.Class, f.Reason, f.Message}
			if found[k] == nil {
				found[k] = &Row{Owner: owner, Finding: Finding{f.Class, f.Reason, f.Message, nil}}
			}
			row := found[k]
			row.Pods = append(row.Pods, pod.Name)
			for _, name := range f.Containers {
				if !slices.Contains(row.Containers, name) {
					row.Containers = append(row.Containers, name)
				}
			}
		}
	}
	rows := make([]Row, 0, len(found))
	for _, row := range found {
		slices.Sort(row.Pods)
		rows = append(rows, *row)
	}
	slices.SortFunc(rows, func(a, b Row) int {
		return cmp.Or(
			cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name),
			cmp.Compare(a.Class, b.Class), cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.Message, b.Message),
		)
	})
	return rows
}
