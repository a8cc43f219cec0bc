package main

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

func TestTheManagementClusterIsNamedWithItsNamespaceOrNotAtAll(t *testing.T) {
	for flag, want := range map[string]types.NamespacedName{"": {}, "org-acme/mgmt": {Namespace: "org-acme", Name: "mgmt"}} {
		if got, err := managementCluster(flag); err != nil || got != want {
			t.Errorf("%q: %v, %v", flag, got, err)
		}
	}
	for _, flag := range []string{"mgmt", "/mgmt", "org-acme/", "a/b/c", "/"} {
		if _, err := managementCluster(flag); err == nil || !strings.Contains(err.Error(), "namespace/name") {
			t.Errorf("%q: %v", flag, err)
		}
	}
}
