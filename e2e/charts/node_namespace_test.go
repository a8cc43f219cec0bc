package charts_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/tier"
)

func TestWhereTheNamespaceIsThereBeforeTheChartMakesNone(t *testing.T) {
	given := values{"proxy": proxy(url, url, "a"), "node": values{"enabled": true}}
	if template(t, "fairlead-policies", given)["Namespace/fairlead-node"] == nil {
		t.Error("by default, there is none")
	}
	given["node"] = values{"enabled": true, "createNamespace": false}
	objects := template(t, "fairlead-policies", given)
	if objects["Namespace/fairlead-node"] != nil || objects["DaemonSet/fairlead-node"].GetNamespace() != "fairlead-node" {
		t.Error("it is made, or its pods are elsewhere")
	}
}

// Helm deletes what a release no longer has: a namespace, with all that is in it.
func TestTheNamespaceOfFairleadNodeIsTakenAndNotDeleted(t *testing.T) {
	tier.Full(t)
	s := server{engine: "Native", cp: controlplanetest.Start(t, controlplane.Options{})}
	s.clients = controlplanetest.Clients(t, s.cp)
	namespaces := s.clients.CoreV1().Namespaces()
	chart := []string{chartFolder("fairlead-policies"), "--create-namespace", "--set=engine=Native,carry=Literal,node.enabled=true", "--values", valuesFile(t, values{"proxy": proxy(url, url, "a")})}
	with := func(create string) []string {
		return append([]string{"--set=node.createNamespace=" + create}, chart...)
	}

	s.mustHelm(t, "install", with("true")...)
	s.mustHelm(t, "upgrade", with("false")...)
	s.mustHelm(t, "uninstall")
	namespace, err := namespaces.Get(t.Context(), "fairlead-node", metav1.GetOptions{})
	if err != nil || namespace.DeletionTimestamp != nil {
		t.Fatalf("it is gone: %v", err)
	}

	// Now it is as if somebody else had made it.
	none := []byte(`{"metadata": {"annotations": null, "labels": {"app.kubernetes.io/managed-by": null}}}`)
	_, err = namespaces.Patch(t.Context(), "fairlead-node", types.MergePatchType, none, metav1.PatchOptions{})
	controlplanetest.Require(t, err)
	if err := s.helm(t, "install", with("true")...); err == nil || !strings.Contains(err.Error(), "cannot be imported") {
		t.Errorf("Helm takes over what is not its own: %v", err)
	}
	s.mustHelm(t, "install", with("false")...)
}
