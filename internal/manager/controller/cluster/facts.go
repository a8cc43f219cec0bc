package cluster

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/inputs"
	"github.com/fairlead-io/fairlead/internal/core/provider"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/internal/manager/controller/decide"
	"github.com/fairlead-io/fairlead/internal/manager/controller/machinery"
)

// readFacts fills s.facts from the report, or live from the object that has them
// when they are first needed: once the endpoint is known. Foreign kinds are not
// watched; the facts are read again when the Cluster changes, when they were
// incomplete, and when asked for.
func (r *Reconciler) readFacts(ctx context.Context, s *decide.State) error {
	last := s.Last()
	if s.Cluster.Spec.ControlPlaneEndpoint.Host == "" {
		s.Facts, s.Unread = last.Facts, unreadSince(last)
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
	s.Facts, s.Unread, s.FactsVersion = last.Facts, unreadSince(last), table.Version()
	from, ok := inputs.FindFactsObject(s.Cluster, table)
	missing := inputs.RowMissing(last.Facts, from.Row, s.Cluster, users)
	failed := s.Unread.Reason != "" || invalidFacts(last)
	again := failed && r.memory.attemptDue(client.ObjectKeyFromObject(s.Cluster), time.Now()) || s.Paced || decide.ReapplyRequested(s)
	switch {
	case missing.Reason != "" && (!ok || s.Unread.Reason == missing.Reason && !again):
		s.Unread = missing
		return nil
	case !ok:
		s.Facts, s.Unread = nil, inputs.Unread{}
		return nil
	case !again && r.stillGood(s, from, table.Version()):
		return nil
	}
	if err := r.lookForFacts(ctx, s, from, missing.Reason != ""); err != nil {
		return err
	}
	if missing.Reason != "" && !inputs.HasAll(s.Facts, last.Facts) {
		s.Facts, s.Unread = last.Facts, missing
	}
	return nil
}

// lookForFacts reads the object. Where facts are kept whatever it says, it is no error that it cannot be read; where none are, the cluster
// waits.
func (r *Reconciler) lookForFacts(ctx context.Context, s *decide.State, from inputs.FactsObject, keeps bool) (err error) {
	kept := s.Last().Facts
	var object map[string]any
	var unread inputs.Unread
	if len(from.Row.Facts) > 0 {
		key := types.NamespacedName{Namespace: s.Cluster.Namespace, Name: from.Name}
		if object, unread, err = r.readInfrastructure(ctx, from.Row, key); err != nil {
			stay := keeps || inputs.WasRead(kept, from) // so that the provider does not hold a new password back
			if ctx.Err() != nil || !stay && machinery.Unavailable(err) {
				return err
			}
			log.FromContext(ctx).Error(err, "an infrastructure object cannot be read")
			if !stay {
				s.Unread = unread
				return resolve.NewProblem(resolve.ReasonFactsPending, inputs.Cluster(s.Cluster).Object(), "spec.infrastructureRef",
					"%s %s: %s", from.Row.Kind, from.Name, unread.Problem)
			}
		}
	}
	found := inputs.ReportedFacts(s.FactsVersion, from.Name, provider.Extract(from.Row, object))
	s.Facts, s.Unread.Problem = inputs.NextFacts(kept, found, from.Row, unread)
	s.Unread.Reason = unread.Reason
	if unread.Reason == "" {
		s.Unread = inputs.Unparsable(s.Facts)
	}
	return nil
}

// stillGood reports whether the facts in the report are those that a new look
// would give.
func (r *Reconciler) stillGood(s *decide.State, from inputs.FactsObject, version string) bool {
	kept := s.Last().Facts
	return kept != nil && len(kept.Missing) == 0 &&
		kept.Kind == from.Row.Kind && kept.Name == from.Name &&
		kept.Version == version && kept.Source == from.Row.Source &&
		slices.Equal(kept.Metadata, from.Row.Metadata) && slices.Equal(kept.Domains, from.Row.Domains) &&
		s.Last().Cluster.Generation == s.Cluster.Generation
}

// invalidFacts reports whether the facts that were read cannot be used.
func invalidFacts(last v1alpha1.ProxyReportStatus) bool {
	ready := meta.FindStatusCondition(last.Conditions, v1alpha1.ConditionReady)
	return ready != nil && ready.Reason == string(resolve.ReasonInvalidFacts)
}

// unreadSince returns what a status says of the last attempt to read the facts.
func unreadSince(last v1alpha1.ProxyReportStatus) inputs.Unread {
	if condition := meta.FindStatusCondition(last.Conditions, v1alpha1.ConditionFactsUnread); condition != nil {
		return inputs.Unread{Reason: condition.Reason, Problem: condition.Message}
	}
	return inputs.Unread{}
}

// readInfrastructure reads the object whatever its version. That it is absent,
// of an unknown kind or not readable is no error: retrying soon is no use.
func (r *Reconciler) readInfrastructure(ctx context.Context, row provider.Row, key types.NamespacedName) (map[string]any, inputs.Unread, error) {
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
	case machinery.IsAbsent(err, key.Name):
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

// aggregateLabel marks ClusterRoles for config/rbac/provider_facts.yaml.
const aggregateLabel = "fairlead.io/aggregate-to-provider-facts"

// tables keeps the table of providers as it was parsed last, by the version of its built-in rows.
type tables struct {
	mu    sync.Mutex
	state string // of the rows of users
	by    map[string]provider.Table
}

// get returns the table of a version, which parse makes where it is not known. An error is not kept: it names who asked.
func (t *tables) get(version, state string, parse func() (provider.Table, error)) (provider.Table, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.state != state || t.by == nil {
		t.state, t.by = state, map[string]provider.Table{}
	}
	if table, ok := t.by[version]; ok {
		return table, nil
	}
	table, err := parse()
	if err == nil {
		t.by[version] = table
	}
	return table, err
}

// userRows returns the ConfigMaps with rows that users label.
func (r *Reconciler) userRows(ctx context.Context) ([]corev1.ConfigMap, error) {
	maps := &corev1.ConfigMapList{}
	err := r.Client.List(ctx, maps, client.InNamespace(r.Namespace), client.HasLabels{v1alpha1.ProviderFactsLabel}, client.UnsafeDisableDeepCopy)
	return maps.Items, err
}

// table returns the built-in rows of the version that the cluster was promised, and those of users, which are always current. It is
// parsed once per state of these.
func (r *Reconciler) table(s *decide.State, users []corev1.ConfigMap) (provider.Table, error) {
	var versions []string
	for i := range users {
		versions = append(versions, users[i].Name+"@"+users[i].ResourceVersion)
	}
	slices.Sort(versions)
	return r.tables.get(s.PromisedFacts(), fmt.Sprint(versions), func() (provider.Table, error) {
		builtin, err := r.Builtin(s.PromisedFacts())
		if err != nil {
			return provider.Table{}, s.UnknownPromise(v1alpha1.FactsVersionAnnotation, err.Error())
		}
		return inputs.ProviderTable(builtin, users)
	})
}
