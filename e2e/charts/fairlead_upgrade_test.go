package charts_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/tier"
)

// Helm 4, Flux and Argo CD apply server-side, and the API server takes no Deployment that has the defaults of one
// strategy and the type of the other.
func TestLeaderElectionIsSwitchedOffAndOn(t *testing.T) {
	tier.Full(t)
	cp := controlplanetest.Shared(t)
	clients := controlplanetest.Clients(t, cp)
	namespace, err := clients.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "strategy-"}}, metav1.CreateOptions{})
	controlplanetest.Require(t, err)
	for _, step := range []struct {
		given values
		want  string
	}{
		{values{}, "RollingUpdate"},
		{values{"replicas": 1, "leaderElection": values{"enabled": false}}, "Recreate"},
		{values{}, "RollingUpdate"},
	} {
		operator := template(t, "fairlead", values{"proxy": proxy(url, url, "a")}, step.given)["Deployment/fairlead-operator"]
		operator.SetNamespace(namespace.Name)
		if err := cp.ApplyObjects(t.Context(), operator); err != nil {
			t.Fatalf("%s: %v", step.want, err)
		}
		found, err := clients.AppsV1().Deployments(namespace.Name).Get(t.Context(), operator.GetName(), metav1.GetOptions{})
		controlplanetest.Require(t, err)
		if string(found.Spec.Strategy.Type) != step.want {
			t.Errorf("the strategy is %s, not %s", found.Spec.Strategy.Type, step.want)
		}
		args := strings.Join(found.Spec.Template.Spec.Containers[0].Args, " ")
		if alone := strings.Contains(args, "--leader-elect=false"); alone != (step.want == "Recreate") {
			t.Errorf("%s, and the operator's arguments are %s", step.want, args)
		}
	}
}
