package apply

import (
	"context"
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// PeoplesManager is the field manager of decisions on the command line, which people make with rights of their own.
const PeoplesManager = "fairlead-cli"

// People writes these keys of the data of a ConfigMap in which people say what they want, and removes those that are nil.
// What else it has stays. Version is that of the object which was read, and empty where there was none. The error is the
// API server's: a conflict, or one that says that the object exists, where somebody else was faster.
func People(ctx context.Context, configMaps dynamic.ResourceInterface, name, version string, data map[string]any, dryRun bool) error {
	var dry []string
	if dryRun {
		dry = []string{metav1.DryRunAll}
	}
	if version == "" {
		given := map[string]any{}
		for key, value := range data {
			if value != nil {
				given[key] = value
			}
		}
		object := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name}, "data": given,
		}}
		_, err := configMaps.Create(ctx, object, metav1.CreateOptions{FieldManager: PeoplesManager, DryRun: dry})
		return err
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"resourceVersion": version}, "data": data})
	if err != nil {
		return err
	}
	_, err = configMaps.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: PeoplesManager, DryRun: dry})
	return err
}

// Labels applies these labels of an object that was read, server-side, and returns what the object is after it, with what
// admission makes of it. Nothing else of the object is touched. A label that somebody else owns with another value is a
// conflict, and so is another object of its name. The error is the API server's.
func Labels(ctx context.Context, objects dynamic.ResourceInterface, object *unstructured.Unstructured, labels map[string]string, dryRun bool) (*unstructured.Unstructured, error) {
	options := metav1.ApplyOptions{FieldManager: PeoplesManager}
	if dryRun {
		options.DryRun = []string{metav1.DryRunAll}
	}
	applied := &unstructured.Unstructured{Object: map[string]any{}}
	applied.SetAPIVersion(object.GetAPIVersion())
	applied.SetKind(object.GetKind())
	applied.SetName(object.GetName())
	applied.SetNamespace(object.GetNamespace())
	applied.SetUID(object.GetUID())
	applied.SetLabels(labels)
	return objects.Apply(ctx, object.GetName(), applied, options)
}
