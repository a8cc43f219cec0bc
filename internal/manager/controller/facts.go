package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/inputs"
	"github.com/fairlead-io/fairlead/internal/core/provider"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
)

// readFacts fills s.facts from the report, or live from the object that has them
// when they are first needed: once the endpoint is known. Foreign kinds are not
// watched; the facts are read again when the Cluster changes, when they were
// incomplete, and when asked for.
func (r *ClusterReconciler) readFacts(ctx context.Context, s *state) error {
	last := s.last()
	if s.cluster.Spec.ControlPlaneEndpoint.Host == "" {
		s.facts, s.unread = last.Facts, unreadSince(last)
		return nil
	}
	users, err := r.userRows(ctx)
	if err != nil {
		return err
	}
	table, err := r.table(s, users)
	if err != nil {
		return err
	}
	s.facts, s.unread, s.factsVersion = last.Facts, unreadSince(last), table.Version()
	from, known := inputs.FindFactsObject(s.cluster, table)
	missing := inputs.RowMissing(last.Facts, from.Row, s.cluster, users)
	failed := s.unread.Reason != "" || invalidFacts(last)
	again := failed && r.memory.attemptDue(client.ObjectKeyFromObject(s.cluster), time.Now()) || s.paced || reapplyRequested(s)
	switch {
	case missing.Reason != "" && (!known || s.unread.Reason == missing.Reason && !again):
		s.unread = missing
		return nil
	case !known:
		s.facts, s.unread = nil, inputs.Unread{}
		return nil
	case !again && r.stillGood(s, from, table.Version()):
		return nil
	}
	if err := r.lookForFacts(ctx, s, from, missing.Reason != ""); err != nil {
		return err
	}
	if missing.Reason != "" && !inputs.HasAll(s.facts, last.Facts) {
		s.facts, s.unread = last.Facts, missing
	}
	return nil
}

// lookForFacts reads the object. Where facts are kept whatever it says, it is no error that it cannot be read; where none are, the cluster
// waits.
func (r *ClusterReconciler) lookForFacts(ctx context.Context, s *state, from inputs.FactsObject, keeps bool) (err error) {
	kept := s.last().Facts
	var object map[string]any
	var unread inputs.Unread
	if len(from.Row.Facts) > 0 {
		key := types.NamespacedName{Namespace: s.cluster.Namespace, Name: from.Name}
		if object, unread, err = r.readInfrastructure(ctx, from.Row, key); err != nil {
			stay := keeps || inputs.WasRead(kept, from) // so that the provider does not hold a new password back
			if ctx.Err() != nil || !stay && unavailable(err) {
				return err
			}
			log.FromContext(ctx).Error(err, "an infrastructure object cannot be read")
			if !stay {
				s.unread = unread
				return resolve.NewProblem(resolve.ReasonFactsPending, inputs.Cluster(s.cluster).Object(), "spec.infrastructureRef",
					"%s %s: %s", from.Row.Kind, from.Name, unread.Problem)
			}
		}
	}
	found := inputs.ReportedFacts(s.factsVersion, from.Name, provider.Extract(from.Row, object))
	s.facts, s.unread.Problem = inputs.NextFacts(kept, found, from.Row, unread)
	s.unread.Reason = unread.Reason
	if unread.Reason == "" {
		s.unread = inputs.Unparsable(s.facts)
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
		s.last().Cluster.Generation == s.cluster.Generation
}

// invalidFacts reports whether the facts that were read cannot be used.
func invalidFacts(last v1alpha1.ProxyReportStatus) bool {
	ready := meta.FindStatusCondition(last.Conditions, v1alpha1.ConditionReady)
	return ready != nil && ready.Reason == string(resolve.ReasonInvalidFacts)
}

// unreadSince is what a status says of the last attempt to read the facts.
func unreadSince(last v1alpha1.ProxyReportStatus) inputs.Unread {
	if condition := meta.FindStatusCondition(last.Conditions, v1alpha1.ConditionFactsUnread); condition != nil {
		return inputs.Unread{Reason: condition.Reason, Problem: condition.Message}
	}
	return inputs.Unread{}
}

// readInfrastructure reads the object whatever its version. That it is absent,
// of an unknown kind or not readable is no error: retrying soon is no use.
func (r *ClusterReconciler) readInfrastructure(ctx context.Context, row provider.Row, key types.NamespacedName) (map[string]any, inputs.Unread, error) {
	kind := schema.GroupKind{Group: row.Group, Kind: row.Kind}
	notInstalled := inputs.Unread{Reason: v1alpha1.ReasonKindNotInstalled, Problem: fmt.Sprintf("the kind %s is not installed", kind)}
	mapping, err := r.Client.RESTMapper().RESTMapping(kind)
	if meta.IsNoMatchError(err) {
		return nil, notInstalled, nil
	}
	if err != nil {
		return nil, readFailed, fmt.Errorf("looking up kind %s: %w", kind, err)
	}
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(mapping.GroupVersionKind)
	within, cancel := context.WithTimeout(ctx, factsTime)
	defer cancel()
	switch err := r.Live.Get(within, key, object); {
	case err == nil:
		return object.Object, inputs.Unread{}, nil
	case isAbsent(err, key.Name):
		return nil, inputs.Unread{Reason: v1alpha1.ReasonObjectNotFound, Problem: "the object does not exist"}, nil
	case apierrors.IsNotFound(err): // a kind that was there when kinds were last looked up
		return nil, notInstalled, nil
	case apierrors.IsForbidden(err):
		problem := fmt.Sprintf("not readable for the operator; give it a ClusterRole labelled %s=true", aggregateLabel)
		return nil, inputs.Unread{Reason: v1alpha1.ReasonForbidden, Problem: problem}, nil
	default:
		return nil, readFailed, fmt.Errorf("reading %s %s: %w", row.Kind, key, err)
	}
}

// factsTime is how long an infrastructure object may take to be read: a conversion webhook of its provider may hang.
const factsTime = 5 * time.Second

var readFailed = inputs.Unread{Reason: v1alpha1.ReasonReadFailed, Problem: "reading it fails; the operator's log says how"}

// isAbsent reports whether the API server says of the object itself that it is not there. A CRD that is gone answers
// "not found", too.
func isAbsent(err error, name string) bool {
	var status apierrors.APIStatus
	return apierrors.IsNotFound(err) && errors.As(err, &status) &&
		status.Status().Details != nil && status.Status().Details.Name == name &&
		!apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

// aggregateLabel marks ClusterRoles for config/rbac/provider_facts.yaml.
const aggregateLabel = "fairlead.io/aggregate-to-provider-facts"

func reapplyRequested(s *state) bool {
	return s.report != nil && s.report.Annotations[v1alpha1.ReapplyAnnotation] != s.report.Status.HandledRequest
}
