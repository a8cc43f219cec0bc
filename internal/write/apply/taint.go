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

// RemoveTaint removes the taint of this key from a node, if it is there, and changes nothing else: somebody else may write
// the node meanwhile.
func RemoveTaint(ctx context.Context, clients kubernetes.Interface, name, key string) error {
	node, err := clients.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	at := slices.IndexFunc(node.Spec.Taints, func(found corev1.Taint) bool { return found.Key == key })
	if at < 0 {
		return nil
	}
	path := fmt.Sprintf("/spec/taints/%d", at)
	patch, err := json.Marshal([]map[string]any{
		{"op": "test", "path": path + "/key", "value": key},
		{"op": "remove", "path": path},
	})
	if err != nil {
		return err
	}
	_, err = clients.CoreV1().Nodes().Patch(ctx, name, types.JSONPatchType, patch, metav1.PatchOptions{FieldManager: FieldManager})
	if apierrors.IsInvalid(err) {
		return fmt.Errorf("its taints have changed meanwhile: %w", err)
	}
	return err
}
