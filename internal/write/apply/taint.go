package apply

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// RemoveTaint removes the taints of this key from a node, each effect's, and changes nothing else: somebody else may write the
// node meanwhile.
func RemoveTaint(ctx context.Context, clients kubernetes.Interface, name, key string) error {
	node, err := clients.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	for { // until somebody else adds none
		operations := withoutTaint(node.Spec.Taints, key)
		if len(operations) == 0 {
			return nil
		}
		patch, err := json.Marshal(operations)
		if err != nil {
			return err
		}
		node, err = clients.CoreV1().Nodes().Patch(ctx, name, types.JSONPatchType, patch, metav1.PatchOptions{FieldManager: FieldManager})
		switch {
		case apierrors.IsInvalid(err):
			return fmt.Errorf("its taints have changed meanwhile: %w", err)
		case err != nil:
			return err
		}
	}
}

// withoutTaint returns the operations from the end of the list on: a removal moves the taints behind it.
func withoutTaint(taints []corev1.Taint, key string) (operations []map[string]any) {
	for at, taint := range slices.Backward(taints) {
		if taint.Key == key {
			path := fmt.Sprintf("/spec/taints/%d", at)
			operations = append(operations, map[string]any{"op": "test", "path": path + "/key", "value": key}, map[string]any{"op": "remove", "path": path})
		}
	}
	return operations
}
