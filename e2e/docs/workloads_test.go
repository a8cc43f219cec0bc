package docs_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/deployment"
)

// node stands in for the nodes of a cluster: it runs one replica of each Deployment of Fairlead as a process, anew when
// its template changes or it has ended, and says so in its status. Pods of others stay pending.
type node struct {
	cp      *controlplane.ControlPlane
	clients kubernetes.Interface
	running map[types.NamespacedName]replica
	ended   sync.WaitGroup
}

type replica struct {
	*deployment.Replica
	uid        types.UID
	generation int64
}

// startNode runs until the context ends, and then waits for what it has started.
func startNode(ctx context.Context, cp *controlplane.ControlPlane) (*node, error) {
	clients, err := kubernetes.NewForConfig(cp.Admin())
	if err != nil {
		return nil, err
	}
	n := &node{cp: cp, clients: clients, running: map[types.NamespacedName]replica{}}
	n.ended.Go(func() {
		for ctx.Err() == nil {
			if err := n.sync(ctx); err != nil && ctx.Err() == nil {
				fmt.Fprintln(os.Stderr, "node:", err) // it is tried again, as on a node
			}
			select {
			case <-ctx.Done():
			case <-time.After(100 * time.Millisecond):
			}
		}
		for _, replica := range n.running {
			_ = replica.Stop()
		}
	})
	return n, nil
}

func (n *node) sync(ctx context.Context) error {
	list, err := n.clients.AppsV1().Deployments("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	wanted := map[types.NamespacedName]bool{}
	for _, object := range list.Items {
		containers := object.Spec.Template.Spec.Containers
		if len(containers) != 1 || !slices.Equal(containers[0].Command[:min(1, len(containers[0].Command))], []string{"fairlead-operator"}) {
			continue
		}
		name := types.NamespacedName{Namespace: object.Namespace, Name: object.Name}
		wanted[name] = true
		if err := n.run(ctx, name, &object); err != nil {
			return err
		}
	}
	for name, replica := range n.running {
		if !wanted[name] {
			_ = replica.Stop()
			delete(n.running, name)
		}
	}
	return nil
}

func (n *node) run(ctx context.Context, name types.NamespacedName, object *appsv1.Deployment) error {
	if now, runs := n.running[name]; runs {
		select {
		case <-now.Done():
		default:
			if now.uid == object.UID && now.generation == object.Generation {
				return nil
			}
			_ = now.Stop()
		}
		delete(n.running, name)
	}
	started, err := deployment.Start(ctx, n.cp, name.Namespace, name.Name, "--leader-elect=false")
	if err != nil {
		return err
	}
	n.running[name] = replica{started, object.UID, object.Generation}
	count := *object.Spec.Replicas
	object.Status = appsv1.DeploymentStatus{
		ObservedGeneration: object.Generation,
		Replicas:           count, UpdatedReplicas: count, ReadyReplicas: count, AvailableReplicas: count,
		Conditions: []appsv1.DeploymentCondition{{
			Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue, Reason: "MinimumReplicasAvailable",
		}, {
			Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "NewReplicaSetAvailable",
		}},
	}
	_, err = n.clients.AppsV1().Deployments(name.Namespace).UpdateStatus(ctx, object, metav1.UpdateOptions{})
	return err
}
