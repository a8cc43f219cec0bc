package doctor

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/internal/core/document"
)

// Files may have thousands of namespaces, and policies for all of them.
func TestAPolicyIsDecodedOnceForAllNamespaces(t *testing.T) {
	const policies = 100
	e := &Examination{}
	for i := range policies {
		e.documents = append(e.documents, document.Document{Object: unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": map[string]any{"name": fmt.Sprint("p", i)},
			"spec": map[string]any{"podSelector": map[string]any{}, "policyTypes": []any{"Egress"}},
		}}})
	}
	namespaces := 0
	allocations := testing.AllocsPerRun(10, func() {
		namespaces++
		found, err := e.beside(fmt.Sprint("n", namespaces))
		if err != nil || len(found.policies) != policies {
			t.Errorf("%d policies, error %v", len(found.policies), err)
		}
	})
	if allocations > policies {
		t.Errorf("one more namespace costs %v allocations", allocations)
	}
}
