package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/inputs"
	"github.com/fairlead-io/fairlead/internal/core/provider"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/internal/core/revision"
)

// state is everything one decision is made from.
type state struct {
	cluster      *clusterv1.Cluster // nil: the Cluster is gone
	report       *v1alpha1.ProxyReport
	wish         *v1alpha1.ProxyOverride // as it is; nil: there is none
	override     *v1alpha1.ProxyOverride // in effect; nil: none is
	overrideEnds []inputs.End            // of the ProxyOverride, also those that were
	overrideNow  time.Time               // by which it has ended, or not
	nextEnd      time.Time               // when the next entry of the CorporateProxy ends; zero: none does, or the waves tell
	installation resolve.Installation
	facts        *v1alpha1.ReportedFacts
	factsVersion string        // of the built-in table, by which they were looked for
	unread       inputs.Unread // why they are not those of a new look, which the condition FactsUnread says
	machines     []machine
	management   bool                    // the cluster is the management cluster
	endpoints    []clusterv1.APIEndpoint // then: those of all other clusters
	exists       []string                // what was there where blank Secrets were to be created
	problem      *resolve.Problem        // found while reading; nothing else is decided then
	source       string                  // the state of the CorporateProxy and of what it names
	settles      time.Duration           // until a source that is changing is read, or a grace period is over; 0: neither
	paced        bool                    // everything is to be applied again, whether it changed or not
	doubt        doubt
	record       *revision.Record // what it is to have, where the CorporateProxy has spec.rollout
	unrecorded   bool             // it has none, since the CorporateProxy has no spec.rollout
	held         *held            // why nothing is written for now
	account      *string          // fingerprint of the credentials that its Secrets are to have; nil: not known, or nobody asks
	now          time.Time
	fingerprints resolve.Fingerprints // of the credentials, where there are probes
}

// held is a condition of a report: its cluster waits, and its Secrets stay as they are.
type held struct{ condition, reason, message string }

// circumstances is what could change the answer where a cluster cannot be served: the Cluster, what its owner wants, the
// installation, the table of providers, and whoever asks for another attempt.
func (s state) circumstances() string {
	text := fmt.Sprintf("%s/%d %s", s.cluster.UID, s.cluster.Generation, s.source)
	if s.override != nil {
		ended, _ := inputs.Ended(s.override.Spec.NoProxy, s.overrideNow)
		text += fmt.Sprintf(" %s/%d/%d", s.override.UID, s.override.Generation, len(ended))
	}
	if s.report != nil {
		text += " " + s.report.Annotations[v1alpha1.ReapplyAnnotation]
	}
	if s.facts != nil {
		text += " " + s.facts.Version + s.facts.Source
	}
	return text
}

// last returns the status of the report, the zero value if there is none yet.
func (s state) last() v1alpha1.ProxyReportStatus {
	if s.report == nil {
		return v1alpha1.ProxyReportStatus{}
	}
	return s.report.Status
}

// past is what the report remembers of the cluster.
func (s state) past() resolve.Past {
	past := inputs.Past(s.report)
	if past.Report && len(s.exists) > 0 {
		past.HadProxy = resolve.NoteHadProxy // somebody may have been built from it
	}
	return past
}

func (r *ClusterReconciler) read(ctx context.Context, key types.NamespacedName) (state, error) {
	now := time.Now()
	s := state{paced: r.memory.untilTurn(key, r.Interval, now) <= 0, now: now}
	var err error
	if s.report, err = get[v1alpha1.ProxyReport](ctx, r.Client, key); err != nil {
		return s, err
	}
	s.report = r.memory.latest(key, s.report)
	if err := r.changes.load(ctx); err != nil {
		return s, err
	}
	s.doubt = r.memory.doubtOf(key)
	if s.cluster, err = get[clusterv1.Cluster](ctx, r.Client, key); err != nil {
		return s, err
	}
	if s.cluster == nil {
		return s, r.confirmGone(ctx, key, "")
	}
	if uid := s.last().Cluster.UID; uid != "" && uid != s.cluster.UID && !paused(s.cluster) {
		s.cluster = nil // the report is about an earlier Cluster of that name
		return s, r.confirmGone(ctx, key, uid)
	}
	if s.machines, err = r.readMachines(ctx, key); err != nil {
		return s, err
	}
	if key == r.Management {
		if err := r.readEndpoints(ctx, &s); err != nil {
			return s, err
		}
	}
	if s.wish, err = get[v1alpha1.ProxyOverride](ctx, r.Client, key); err != nil {
		return s, err
	}
	s.override = s.wish
	err = r.readInstallation(ctx, &s)
	r.endOverride(&s)
	if err == nil {
		err = r.readAccount(ctx, &s)
	}
	if err == nil && s.held == nil {
		err = r.readFacts(ctx, &s)
	}
	if err == nil {
		r.holdOwnChange(&s)
	}
	if err != nil && !errors.As(err, &s.problem) {
		return s, err
	}
	r.waitForSelection(key, &s)
	return s, nil
}

// waitForSelection begins, and ends, the grace period of a cluster that nothing selects and that is not blank yet.
func (r *ClusterReconciler) waitForSelection(key types.NamespacedName, s *state) {
	if s.problem == nil || s.problem.Reason != resolve.ReasonNotSelected || s.past().CountsAsProxied() || s.past().Mode == resolve.ModeUnproxied {
		r.memory.selected(key)
		return
	}
	s.settles = max(r.memory.unselectedFor(key, r.Grace, s.now), 0)
}

// get returns nil for an object that does not exist. One that comes from a cache is shared, and must not be changed.
func get[T any, P interface {
	*T
	client.Object
}](ctx context.Context, reader client.Reader, key types.NamespacedName) (P, error) {
	object := P(new(T))
	if err := reader.Get(ctx, key, object, client.UnsafeDisableDeepCopy); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return object, nil
}

// confirmGone asks the API server whether the Cluster is really gone, before the
// report and with it the Secrets are removed. A cache can be empty for other
// reasons, or behind the reports' one, and a CRD that is gone for a moment answers
// "not found", too. uid is that of the Cluster; empty: any of the name is meant.
func (r *ClusterReconciler) confirmGone(ctx context.Context, key types.NamespacedName, uid types.UID) error {
	live := &clusterv1.Cluster{}
	err := r.Live.Get(ctx, key, live)
	switch {
	case err == nil && uid != "" && live.UID != uid:
		return nil
	case err == nil:
		return fmt.Errorf("the cache does not have the Cluster %s that the API server has", key)
	case isAbsent(err, key.Name):
		return nil
	}
	return fmt.Errorf("asking whether Cluster %s is gone: %w", key, err)
}

// readInstallation chooses the cluster's CorporateProxy and reads it.
func (r *ClusterReconciler) readInstallation(ctx context.Context, s *state) error {
	proxies := &v1alpha1.CorporateProxyList{}
	if err := r.Client.List(ctx, proxies, client.UnsafeDisableDeepCopy); err != nil {
		return err
	}
	namespace := &metav1.PartialObjectMetadata{}
	namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	if err := r.Client.Get(ctx, types.NamespacedName{Name: s.cluster.Namespace}, namespace); err != nil {
		return fmt.Errorf("reading the labels of namespace %s: %w", s.cluster.Namespace, err)
	}
	override := inputs.OverrideInEffect(s.override, r.Proxies.ends.at("", s.now))
	proxy, err := inputs.ChooseProxy(proxies.Items, s.cluster, namespace.Labels, inputs.Has(s.report, override))
	if err != nil {
		return err
	}
	if proxy.Spec.Rollout != nil {
		return r.readRevision(ctx, s, proxy)
	}
	s.unrecorded = true
	now := s.now
	read, err := r.Proxies.get(ctx, proxy, now)
	s.installation, s.source, s.nextEnd = read.installation, read.version, read.nextEnd
	s.settles = r.Proxies.settles(proxy, now)
	if err == nil && s.installation.Probes != nil {
		key, err := r.Key.get(ctx)
		if err != nil {
			return fmt.Errorf("reading the key of the write memory: %w", err)
		}
		s.fingerprints = fingerprints(key, s.installation)
	}
	return err
}

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
	if table, is := t.by[version]; is {
		return table, nil
	}
	table, err := parse()
	if err == nil {
		t.by[version] = table
	}
	return table, err
}

// userRows are the ConfigMaps with rows that users label.
func (r *ClusterReconciler) userRows(ctx context.Context) ([]corev1.ConfigMap, error) {
	maps := &corev1.ConfigMapList{}
	err := r.Client.List(ctx, maps, client.InNamespace(r.Namespace), client.HasLabels{v1alpha1.ProviderFactsLabel}, client.UnsafeDisableDeepCopy)
	return maps.Items, err
}

// table returns the built-in rows of the version that the cluster was promised, and those of users, which are always current. It is
// parsed once per state of these.
func (r *ClusterReconciler) table(s *state, users []corev1.ConfigMap) (provider.Table, error) {
	var versions []string
	for i := range users {
		versions = append(versions, users[i].Name+"@"+users[i].ResourceVersion)
	}
	slices.Sort(versions)
	return r.tables.get(s.promisedFacts(), fmt.Sprint(versions), func() (provider.Table, error) {
		builtin, err := r.Builtin(s.promisedFacts())
		if err != nil {
			return provider.Table{}, s.unknownPromise(v1alpha1.FactsVersionAnnotation, err.Error())
		}
		return inputs.ProviderTable(builtin, users)
	})
}
