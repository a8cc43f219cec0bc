package observe

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/observation"
	"github.com/fairlead-io/fairlead/internal/core/probe"
	"github.com/fairlead-io/fairlead/internal/write/apply"
)

// writer is the field manager of all that this program writes.
const writer client.FieldOwner = "fairlead-observe"

// lookTime bounds all of one look.
const lookTime = time.Minute

// look reads what a cluster says of itself and writes what is new. It returns the result for the metric; empty: the management
// cluster's API server failed, which says nothing about the cluster.
func (s *Sweeper) look(ctx context.Context, report *v1alpha1.ProxyReport) string {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	key, logger := client.ObjectKeyFromObject(report), log.FromContext(ctx).WithValues("cluster", client.ObjectKeyFromObject(report).String())
	kubeconfig, err := s.kubeconfig(ctx, key)
	if err != nil {
		logger.Error(err, "reading the kubeconfig")
		return ""
	}
	seen, away, err := s.read(ctx, key.Name, kubeconfig)
	defer away.close()
	var next *v1alpha1.Observed
	result := resultReached
	if err != nil {
		failed := classify(err)
		logger.V(1).Info("not observed", "result", failed.result, "error", err.Error())
		result, next = failed.result, observation.Unreached(failed.message, report.Status.Observed, s.Period)
	} else {
		next = observation.Observed(seen, report.Status.Observed, s.Period, time.Now())
	}
	if err := s.write(ctx, report, next); err != nil {
		logger.Error(err, "writing what was observed")
		return ""
	}
	if s.Machines && err == nil && observation.Fresh(next, time.Now()) > 0 {
		if err := s.lookAtMachines(ctx, key, away.remote, seen.Nodes); err != nil {
			logger.Error(err, "writing the condition of Machines")
		}
	}
	return result
}

func kubeconfigOf(cluster string) string { return cluster + "-kubeconfig" }

// kubeconfig reads the kubeconfig of a cluster, as Cluster API keeps it; nil: there is none. It is not cached.
func (s *Sweeper) kubeconfig(ctx context.Context, cluster types.NamespacedName) ([]byte, error) {
	secret := &corev1.Secret{}
	err := s.Live.Get(ctx, types.NamespacedName{Namespace: cluster.Namespace, Name: kubeconfigOf(cluster.Name)}, secret)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return secret.Data["value"], err
}

// opened is an API server that was reached, until it is closed.
type opened struct {
	remote
	end func()
}

func (o opened) close() {
	if o.end != nil {
		o.end()
	}
}

func (s *Sweeper) read(ctx context.Context, cluster string, kubeconfig []byte) (probe.Result, opened, error) {
	var away opened
	if len(kubeconfig) == 0 {
		return probe.Result{}, away, &failure{resultKubeconfig, fmt.Sprintf("there is no Secret %s with the key value", kubeconfigOf(cluster))}
	}
	access, err := parseKubeconfig(kubeconfig)
	if err != nil {
		return probe.Result{}, away, &failure{resultKubeconfig, err.Error()}
	}
	away.access, away.until = access, time.Now().Add(timeout)
	if away.client, away.end, err = access.client(); err != nil {
		return probe.Result{}, away, err
	}
	text, err := away.result(ctx, s.ProbeNamespace)
	if err != nil {
		return probe.Result{}, away, err
	}
	result, err := observation.Parse(text)
	if err != nil {
		return result, away, &failure{resultInvalid, err.Error()}
	}
	return result, away, nil
}

// write writes the difference to what the report says, if there is one.
func (s *Sweeper) write(ctx context.Context, report *v1alpha1.ProxyReport, next *v1alpha1.Observed) error {
	if equality.Semantic.DeepEqual(report.Status.Observed, next) {
		return nil
	}
	fields, err := merged(next)
	if err != nil {
		return err
	}
	return client.IgnoreNotFound(apply.StatusFields(ctx, s.Client, report, map[string]any{"observed": fields}, writer))
}

// merged returns a merge patch that sets the missing fields to null, so that no earlier value remains.
func merged(next *v1alpha1.Observed) (map[string]any, error) {
	fields := map[string]any{}
	for _, name := range []string{"time", "since", "period", "revision", "egress", "lastVerifiedTime", "message", "targets", "failedTargets", "nodes", "unseen", "credentials"} {
		fields[name] = nil
	}
	text, err := json.Marshal(next)
	if err != nil {
		return nil, fmt.Errorf("encoding what was observed: %w", err)
	}
	if err := json.Unmarshal(text, &fields); err != nil {
		return nil, fmt.Errorf("encoding what was observed: %w", err)
	}
	if nodes, ok := fields["nodes"].(map[string]any); ok {
		for _, name := range []string{"verified", "failed"} {
			if _, ok := nodes[name]; !ok {
				nodes[name] = nil
			}
		}
	}
	return fields, nil
}
