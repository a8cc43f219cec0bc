package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/operator/internal/inputs"
	"github.com/fairlead-io/fairlead/operator/provider"
)

// readFacts fills s.facts from the report, or live from the object that has them
// when they are first needed: once the endpoint is known. Foreign kinds are not
// watched; the facts are read again when the Cluster changes, when they were
// incomplete, and when asked for.
func (r *ClusterReconciler) readFacts(ctx context.Context, s *state) error {
	if s.cluster.Spec.ControlPlaneEndpoint.Host == "" {
		return nil
	}
	table, err := r.table(ctx)
	if err != nil {
		return err
	}
	from, known := inputs.FindFactsObject(s.cluster, table)
	if !known {
		return nil
	}
	if r.stillGood(s, from, table.Version()) {
		s.facts = s.last().Facts
		return nil
	}
	var object map[string]any
	var problem string
	if len(from.Row.Facts) > 0 {
		key := types.NamespacedName{Namespace: s.cluster.Namespace, Name: from.Name}
		if object, problem, err = r.readInfrastructure(ctx, from.Row, key); err != nil {
			return err
		}
	}
	s.facts = inputs.ReportedFacts(table.Version(), from.Name, provider.Extract(from.Row, object))
	if problem != "" {
		inputs.AddProblem(s.facts, from.Row.Kind+": "+problem)
	}
	return nil
}

// stillGood reports whether the facts in the report are those that a new look
// would give.
func (r *ClusterReconciler) stillGood(s *state, from inputs.FactsObject, version string) bool {
	kept := s.last().Facts
	return kept != nil && len(kept.Missing) == 0 &&
		kept.Kind == from.Row.Kind && kept.Name == from.Name &&
		kept.Version == version && kept.Source == from.Row.Source &&
		slices.Equal(kept.Metadata, from.Row.Metadata) && slices.Equal(kept.Domains, from.Row.Domains) &&
		s.last().Cluster.Generation == s.cluster.Generation && !reapplyRequested(s)
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
