// Package observe runs "fairlead-operator observe" on a control plane, under exactly the permissions that config/observe
// ships, and plays the program that writes its input in workload clusters.
package observe

import (
	"context"
	"encoding/json"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/config"
	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/deployment"
	"github.com/fairlead-io/fairlead/e2e/operator"
	"github.com/fairlead-io/fairlead/internal/core/probe"
)

// ServiceAccount is the service account of observe, in the operator's namespace.
const ServiceAccount = "fairlead-observe"

// Policy is its cage.
const Policy = "fairlead-observe-writes"

// User is observe's user name to the API server.
var User = controlplane.ServiceAccountUser(operator.Namespace, ServiceAccount)

// Install installs its permissions beside those of the operator.
func Install(ctx context.Context, cp *controlplane.ControlPlane) error {
	if err := operator.Install(ctx, cp); err != nil {
		return err
	}
	return cp.ApplyFS(ctx, config.Observe)
}

// Start starts it, and returns when it is ready.
func Start(ctx context.Context, cp *controlplane.ControlPlane, args ...string) (*deployment.Replica, error) {
	return deployment.Run(ctx, cp, deployment.Spec{
		Namespace: operator.Namespace, ServiceAccount: ServiceAccount, Command: append([]string{"fairlead-operator", "observe", "--log-level=debug"}, args...),
	})
}

// Kubeconfig is one of a control plane, as Cluster API keeps it in the Secret of a cluster.
func Kubeconfig(cp *controlplane.ControlPlane, who *rest.Config) ([]byte, error) {
	path, err := cp.Kubeconfig(who)
	if err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}

// SecretOf returns the Secret with the kubeconfig of a cluster.
func SecretOf(namespace, cluster string, kubeconfig []byte) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: cluster + "-kubeconfig", Labels: map[string]string{"cluster.x-k8s.io/cluster-name": cluster}},
		Type:       "cluster.x-k8s.io/secret", Data: map[string][]byte{"value": kubeconfig},
	}
}

// Good is the result of a cluster that gets out.
func Good(now time.Time) probe.Result {
	return probe.Result{
		Version: 1, Time: now, Since: now.Add(-time.Hour), Period: "1s",
		Targets: []probe.TargetResult{{Target: probe.Target{URL: "https://registry.example", Expect: probe.Reachable}, State: probe.Held}},
	}
}

// Publish writes a result as "fairlead-operator probe" does.
func Publish(ctx context.Context, workload client.Client, result probe.Result) error {
	text, err := json.Marshal(result)
	if err != nil {
		return err
	}
	configMap := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: operator.Namespace, Name: probe.ConfigMapName}, Data: map[string]string{probe.ResultKey: string(text)},
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: operator.Namespace}}
	if err := workload.Update(ctx, configMap); client.IgnoreNotFound(err) != nil || err == nil {
		return err
	}
	if err := client.IgnoreAlreadyExists(workload.Create(ctx, namespace)); err != nil {
		return err
	}
	return workload.Create(ctx, configMap)
}
