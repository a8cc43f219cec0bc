package manifest

import (
	"fmt"
	"strings"
)

// Workload is an object that is a pod or makes pods, somewhere in a document.
type Workload struct {
	Object  map[string]any
	Pointer string // to the pod or the pod template within it, RFC 6901
}

// templates are where the kinds have what their pods are made of.
var templates = map[string][]string{
	"v1/Pod":              {},
	"apps/v1/Deployment":  {"spec", "template"},
	"apps/v1/DaemonSet":   {"spec", "template"},
	"apps/v1/StatefulSet": {"spec", "template"},
	"apps/v1/ReplicaSet":  {"spec", "template"},
	"batch/v1/Job":        {"spec", "template"},
	"batch/v1/CronJob":    {"spec", "jobTemplate", "spec", "template"},
}

// holders are the kinds that hold other objects in a list.
var holders = map[string][]string{
	"work.open-cluster-management.io/v1/ManifestWork": {"spec", "workload", "manifests"},
}

// Workloads returns the workloads among objects.
func Workloads(objects []map[string]any) []Workload {
	var found []Workload
	for _, object := range objects {
		if path, ok := templates[kind(object)]; ok {
			found = append(found, Workload{object, strings.Join(append([]string{""}, path...), "/")})
		}
	}
	return found
}

// Objects returns the object of a document, or those in a List or a ManifestWork. To change one changes the document.
func Objects(document any) []map[string]any {
	object, ok := document.(map[string]any)
	if !ok {
		return nil
	}
	path, ok := holders[kind(object)]
	switch {
	case ok:
	case strings.HasSuffix(kind(object), "List"): // such as DeploymentList
		path = []string{"items"}
	default:
		return []map[string]any{object}
	}
	var found []map[string]any
	items, _ := get(object, path).([]any)
	for _, item := range items {
		found = append(found, Objects(item)...)
	}
	return found
}

func kind(object map[string]any) string {
	return fmt.Sprintf("%v/%v", object["apiVersion"], object["kind"])
}

func get(object map[string]any, path []string) any {
	var value any = object
	for _, key := range path {
		inner, _ := value.(map[string]any)
		value = inner[key]
	}
	return value
}

// Template returns what the pods are made of: metadata and spec, nil if there is none.
func (w Workload) Template() map[string]any {
	template, _ := get(w.Object, templates[kind(w.Object)]).(map[string]any)
	return template
}

// IsPod tells whether the object is one itself.
func (w Workload) IsPod() bool { return w.Object["kind"] == "Pod" }

// Name is metadata.name, as it is written.
func (w Workload) Name() string { return text(get(w.Object, []string{"metadata", "name"})) }

// Namespace is metadata.namespace, empty if it is left to others.
func (w Workload) Namespace() string { return text(get(w.Object, []string{"metadata", "namespace"})) }

// String is kind, namespace and name.
func (w Workload) String() string {
	return strings.TrimSpace(fmt.Sprint(w.Object["kind"], " ", strings.TrimPrefix(w.Namespace()+"/"+w.Name(), "/")))
}

func text(value any) string {
	if value == nil {
		return ""
	}
	return fmt.Sprint(value)
}
