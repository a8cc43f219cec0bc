package controller

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/operator/internal/inputs"
	"github.com/fairlead-io/fairlead/operator/provider"
)

// readFacts fills s.facts from the report, or live from the infrastructure
// object when they are first needed: once the endpoint is known. Foreign kinds
// are not watched; the facts are read again when the Cluster changes, when they
// were incomplete, and when asked for.
func (r *ClusterReconciler) readFacts(ctx context.Context, s *state) error {
	cluster := inputs.Cluster(s.cluster)
	if cluster.EndpointHost == "" || cluster.InfraKind == "" {
		return nil
	}
	table, err := r.table(ctx)
	if err != nil {
		return err
	}
	row, known := table.Row(cluster.InfraGroup, cluster.InfraKind)
	if !known {
		return nil
	}
	if kept := s.last().Facts; kept != nil && kept.Kind == row.Kind && kept.Name == cluster.InfraName &&
		kept.Version == table.Version() && kept.Source == row.Source && len(kept.Missing) == 0 &&
		s.last().Cluster.Generation == s.cluster.Generation && !reapplyRequested(s) {
		s.facts = kept
		return nil
	}
	var object map[string]any
	var problem string
	if len(row.Facts) > 0 {
		key := types.NamespacedName{Namespace: cluster.Namespace, Name: cluster.InfraName}
		if object, problem, err = r.readInfrastructure(ctx, row, key); err != nil {
			return err
		}
	}
	facts := provider.Extract(row, object)
	s.facts = inputs.ReportedFacts(table.Version(), cluster.InfraName, facts)
	if problem != "" {
		s.facts.Problems = append([]string{problem}, s.facts.Problems...)
	}
	return nil
}

// readInfrastructure reads the object whatever its version. That it is absent,
// of an unknown kind or not readable is a problem in words, not an error: it
// matters only where a required fact is missing without it.
func (r *ClusterReconciler) readInfrastructure(ctx context.Context, row provider.Row, key types.NamespacedName) (map[string]any, string, error) {
	kind := schema.GroupKind{Group: row.Group, Kind: row.Kind}
	mapping, err := r.Client.RESTMapper().RESTMapping(kind)
	if meta.IsNoMatchError(err) {
		return nil, fmt.Sprintf("the kind %s is not installed", kind), nil
	}
	if err != nil {
		return nil, "", fmt.Errorf("looking up kind %s: %w", kind, err)
	}
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(mapping.GroupVersionKind)
	var status apierrors.APIStatus
	switch err := r.Live.Get(ctx, key, object); {
	case err == nil:
		return object.Object, "", nil
	case apierrors.IsNotFound(err):
		return nil, "the object does not exist", nil
	case apierrors.IsForbidden(err) && errors.As(err, &status):
		return nil, fmt.Sprintf("not readable for the operator; give it a ClusterRole labelled %s=true", aggregateLabel), nil
	default:
		return nil, "", fmt.Errorf("reading %s %s: %w", row.Kind, key, err)
	}
}

// aggregateLabel marks ClusterRoles for config/rbac/provider_facts.yaml.
const aggregateLabel = "fairlead.io/aggregate-to-provider-facts"

func reapplyRequested(s *state) bool {
	return s.report != nil && s.report.Annotations[v1alpha1.ReapplyAnnotation] != s.report.Status.HandledRequest
}
