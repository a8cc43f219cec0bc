package deployment

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
)

// node stands in for the nodes of a cluster: it runs one replica of each Deployment of Fairlead as a process, anew when
// its template changes or it has ended, and says so in its status. Pods of others stay pending.
type node struct {
	cp       *controlplane.ControlPlane
	clients  kubernetes.Interface
	operator string
	args     []string // what those get that elect a leader
	running  map[types.NamespacedName]replica
}

type replica struct {
	*Replica
	uid        types.UID
	generation int64
}

// RunNode runs what Deployments of Fairlead say, with the program fairlead-operator at this path, until the context ends.
// Those that elect a leader get these arguments, too. It returns when all of it has ended.
func RunNode(ctx context.Context, cp *controlplane.ControlPlane, operator string, args ...string) error {
	clients, err := kubernetes.NewForConfig(cp.Admin())
	if err != nil {
		return err
	}
	n := &node{cp: cp, clients: clients, operator: operator, args: args, running: map[types.NamespacedName]replica{}}
	for ctx.Err() == nil {
		pause := 100 * time.Millisecond
		if err := n.sync(ctx); err != nil && ctx.Err() == nil {
			fmt.Fprintln(os.Stderr, "node:", err) // it is tried again, as on a node
			pause = time.Second
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
	var ending sync.WaitGroup
	for _, one := range n.running {
		ending.Go(func() { _ = one.Stop() })
	}
	ending.Wait()
	return nil
}

func (n *node) sync(ctx context.Context) error {
	list, err := n.clients.AppsV1().Deployments("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	var errs []error
	wanted := map[types.NamespacedName]bool{}
	for _, object := range list.Items {
		containers := object.Spec.Template.Spec.Containers
		if len(containers) != 1 || !slices.Equal(containers[0].Command[:min(1, len(containers[0].Command))], []string{"fairlead-operator"}) {
			continue
		}
		name := types.NamespacedName{Namespace: object.Namespace, Name: object.Name}
		wanted[name] = true
		if err := n.run(ctx, name, &object); err != nil {
			errs = append(errs, fmt.Errorf("deployment %s: %w", name, err))
		}
	}
	for name, replica := range n.running {
		if !wanted[name] {
			_ = replica.Stop()
			delete(n.running, name)
		}
	}
	return errors.Join(errs...)
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
	spec, err := specOf(object)
	if err != nil {
		return err
	}
	spec.Command[0] = n.operator
	if arg := spec.Command[min(1, len(spec.Command)-1)]; arg == "replicate" || strings.HasPrefix(arg, "-") { // the others elect nobody
		spec.Command = append(spec.Command, n.args...)
	}
	started, err := Run(ctx, n.cp, spec)
	if err != nil {
		return err
	}
	n.running[name] = replica{started, object.UID, object.Generation}
	object.Status = ready(object)
	_, err = n.clients.AppsV1().Deployments(name.Namespace).UpdateStatus(ctx, object, metav1.UpdateOptions{})
	return err
}

func ready(object *appsv1.Deployment) appsv1.DeploymentStatus {
	count := *object.Spec.Replicas
	return appsv1.DeploymentStatus{
		ObservedGeneration: object.Generation,
		Replicas:           count, UpdatedReplicas: count, ReadyReplicas: count, AvailableReplicas: count,
		Conditions: []appsv1.DeploymentCondition{{
			Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue, Reason: "MinimumReplicasAvailable",
		}, {
			Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "NewReplicaSetAvailable",
		}},
	}
}
