package waves

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/inputs"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/internal/core/revision"
	"github.com/fairlead-io/fairlead/internal/core/rollout"
	"github.com/fairlead-io/fairlead/internal/manager/controller/machinery"
	"github.com/fairlead-io/fairlead/internal/manager/controller/settings"
	"github.com/fairlead-io/fairlead/internal/write/apply"
)

// fleet is the fleet as package rollout sees it, by CorporateProxy.
type fleet struct {
	rows     map[string][]rollout.Row
	holders  map[string][]rollout.Holder
	observed []observedCluster
	used     map[string]map[int64]bool  // revisions that records name
	highest  map[string]int64           // the highest number that a record has
	clusters map[string]map[int64]int32 // how many have a revision
	machines map[string]map[int64]int32 // of these clusters
}

// observedCluster is one with its CorporateProxy, empty for none, and the one whose revision its Secrets still have.
type observedCluster struct {
	proxy, left string
	observed    *v1alpha1.Observed
}

// holdersOf returns the clusters that may have the credentials of a CorporateProxy: its own, and those that were
// observed. A cluster that left this CorporateProxy may still have its credentials.
func (f *fleet) holdersOf(proxy string) []rollout.Holder {
	all := slices.Clone(f.holders[proxy])
	for _, c := range f.observed {
		if c.proxy != proxy && c.left != proxy {
			all = append(all, rollout.Holder{Elsewhere: true, Observed: c.observed})
		}
	}
	return all
}

// readFleet reads every cluster from the caches.
func (r *Reconciler) readFleet(ctx context.Context, proxies []v1alpha1.CorporateProxy, known map[string][]*settings.Stored) (*fleet, error) {
	clusters, reports, overrides := &clusterv1.ClusterList{}, &v1alpha1.ProxyReportList{}, &v1alpha1.ProxyOverrideList{}
	namespaces := &metav1.PartialObjectMetadataList{}
	namespaces.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("NamespaceList"))
	for _, list := range []client.ObjectList{clusters, reports, overrides, namespaces} {
		if err := r.Client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
			return nil, err
		}
	}
	in := fleetInputs{
		now: r.now(), ends: r.Proxies.Ends.At("", time.Now()), proxies: proxies, known: known, namespaces: map[string]map[string]string{},
		reports: map[types.NamespacedName]*v1alpha1.ProxyReport{}, overrides: map[types.NamespacedName]*v1alpha1.ProxyOverride{},
	}
	for i := range namespaces.Items {
		in.namespaces[namespaces.Items[i].Name] = namespaces.Items[i].Labels
	}
	for i := range overrides.Items {
		in.overrides[client.ObjectKeyFromObject(&overrides.Items[i])] = &overrides.Items[i]
	}
	f := &fleet{
		rows: map[string][]rollout.Row{}, holders: map[string][]rollout.Holder{}, used: map[string]map[int64]bool{},
		highest: map[string]int64{}, clusters: map[string]map[int64]int32{}, machines: map[string]map[int64]int32{},
	}
	for i := range reports.Items {
		key := client.ObjectKeyFromObject(&reports.Items[i])
		in.reports[key] = r.Latest(key, &reports.Items[i])
		if record, ok, _ := revision.ParseRecord(in.reports[key].Annotations[v1alpha1.RevisionAnnotation]); ok {
			f.need(&record)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range clusters.Items {
		r.addCluster(f, &clusters.Items[i], in)
	}
	r.forgetGone(clusters.Items)
	return f, nil
}

type fleetInputs struct {
	now        time.Time
	ends       time.Time // by which ProxyOverrides have ended
	proxies    []v1alpha1.CorporateProxy
	known      map[string][]*settings.Stored
	namespaces map[string]map[string]string
	reports    map[types.NamespacedName]*v1alpha1.ProxyReport
	overrides  map[types.NamespacedName]*v1alpha1.ProxyOverride
}

// override returns the ProxyOverride of a cluster as package cluster takes it.
func (in fleetInputs) override(key types.NamespacedName, record *revision.Record) *v1alpha1.ProxyOverride {
	return inputs.OverrideInEffect(in.overrides[key], settings.OverrideClock(in.ends, record))
}

// addCluster adds a cluster to the rollout of its CorporateProxy, if that has one.
func (r *Reconciler) addCluster(f *fleet, cluster *clusterv1.Cluster, in fleetInputs) {
	key := client.ObjectKeyFromObject(cluster)
	report := in.reports[key]
	proxy, err := inputs.ChooseProxy(in.proxies, cluster, in.namespaces[cluster.Namespace], inputs.Has(report, in.override(key, nil)))
	f.observe(proxy, report, in.known)
	if err != nil {
		return // its report says why
	}
	if proxy.Spec.Rollout == nil { // it gets what is there now
		delete(r.assigned, key)
		return
	}
	row := rollout.Row{Key: key, Labels: cluster.Labels, New: !inputs.Past(report).CountsAsProxied()}
	switch {
	case cluster.DeletionTimestamp != nil:
		row.Idle = "being deleted"
	case machinery.Paused(cluster):
		row.Idle = "paused"
	}
	if row.New {
		row.Override = OverrideHash(in.override(key, nil))
		delete(r.assigned, key)
		f.rows[proxy.Name] = append(f.rows[proxy.Name], row)
		return
	}
	if record, ok, _ := revision.ParseRecord(report.Annotations[v1alpha1.RevisionAnnotation]); ok {
		row.Record = &record
	}
	status := func(record *revision.Record) rollout.Status {
		return rollout.StatusOf(report.Status, record, proxy.Spec.Rollout.HaltOn.Probes)
	}
	row.Status, row.Holds = status(row.Record), rollout.Holds(report.Status.Observed, in.now)
	r.addAssigned(&row, status)
	row.Override = OverrideHash(in.override(key, row.Record))
	row.Facts = r.factsOf(&row, report)
	if row.Record != nil && row.Idle == "" {
		row.Idle = notKept(row.Record, proxy.Name, in.known[proxy.Name])
	}
	f.need(row.Record)
	f.rows[proxy.Name] = append(f.rows[proxy.Name], row)
	f.hold(proxy.Name, &row, report, in.known[proxy.Name])
}

func (f *fleet) observe(proxy *v1alpha1.CorporateProxy, report *v1alpha1.ProxyReport, known map[string][]*settings.Stored) {
	if report == nil {
		return
	}
	c := observedCluster{observed: report.Status.Observed}
	if proxy != nil && proxy.Spec.Rollout != nil {
		c.proxy = proxy.Name
	}
	if has := report.Status.Revision; has != nil && has.Proxy != c.proxy { // its Secrets stay until others are written
		c.left = has.Proxy
		h := holderOf(report)
		if s := settings.Find(known[has.Proxy], has); s != nil {
			h.Revisions = []int64{s.Number}
		}
		f.holders[has.Proxy] = append(f.holders[has.Proxy], h)
	}
	if report.Status.Observed == nil || len(report.Status.Observed.Credentials) == 0 {
		return
	}
	f.observed = append(f.observed, c)
}

// addAssigned uses a decision that is in no annotation yet as the record of its cluster.
func (r *Reconciler) addAssigned(row *rollout.Row, status func(*revision.Record) rollout.Status) {
	next, ok := r.assigned[row.Key]
	switch {
	case !ok:
	case row.Idle != "", row.Record != nil && row.Record.String() == next.String():
		delete(r.assigned, row.Key)
	case row.Record != nil && row.Record.ReportedRevision == next.ReportedRevision && row.Record.Since.Equal(&next.Since):
		row.Record, row.Status = &next, status(&next) // it has it, and more is known of it
	default:
		row.Record, row.Status.State = &next, rollout.Progressing
	}
}

func (r *Reconciler) factsOf(row *rollout.Row, report *v1alpha1.ProxyReport) string {
	if facts, ok := r.facts[row.Key]; ok {
		return facts
	}
	if row.Record != nil {
		return row.Record.Facts
	}
	return FactsHash(report.Status.Facts)
}

// forgetGone forgets clusters that are gone.
func (r *Reconciler) forgetGone(clusters []clusterv1.Cluster) {
	there := make(map[types.NamespacedName]bool, len(clusters))
	for i := range clusters {
		there[client.ObjectKeyFromObject(&clusters[i])] = true
	}
	maps.DeleteFunc(r.assigned, func(key types.NamespacedName, _ revision.Record) bool { return !there[key] })
	maps.DeleteFunc(r.facts, func(key types.NamespacedName, _ string) bool { return !there[key] })
}

// notKept says that the revision of a cluster was made here and is not kept any more, and none followed it. An older one
// would be a step back.
func notKept(record *revision.Record, proxy string, known []*settings.Stored) string {
	if record.Proxy != proxy || len(known) == 0 {
		return ""
	}
	newest := known[len(known)-1]
	if settings.Find(known, &record.ReportedRevision) == nil && record.Number > newest.Number && apply.SameKey(record.Digest, newest.Digest) {
		return fmt.Sprintf("revision %d is not kept any more", record.Number)
	}
	return ""
}

// need notes that a revision is needed.
func (f *fleet) need(record *revision.Record) {
	if record == nil {
		return
	}
	if f.used[record.Proxy] == nil {
		f.used[record.Proxy] = map[int64]bool{}
	}
	f.used[record.Proxy][record.Number] = true
	if record.Before != nil {
		f.used[record.Proxy][record.Before.Number] = true
	}
	f.highest[record.Proxy] = max(f.highest[record.Proxy], record.Number)
}

func holderOf(report *v1alpha1.ProxyReport) rollout.Holder {
	h := rollout.Holder{Cluster: report.Namespace + "/" + report.Name, Proxied: report.Status.Mode == string(resolve.ModeProxied), Observed: report.Status.Observed}
	if since := report.Status.RevisionSince; since != nil {
		h.Since = since.Time
	}
	return h
}

// hold counts what a cluster has.
func (f *fleet) hold(proxy string, row *rollout.Row, report *v1alpha1.ProxyReport, known []*settings.Stored) {
	h := holderOf(report)
	var machines int32
	if nodes := report.Status.Nodes; nodes != nil {
		h.Outdated, h.MachinePools, machines = nodes.Outdated, nodes.OutdatedMachinePools, nodes.Machines
	}
	var is *v1alpha1.ReportedRevision
	if row.Record != nil {
		is = &row.Record.ReportedRevision
	}
	if s := settings.Find(known, is); s != nil {
		h.Relay = s.Installation.Node.Delivery == resolve.DeliveryRelay
		h.Revisions = []int64{s.Number}
		if before := row.Record.Before; before != nil && row.Status.State != rollout.Done {
			h.Revisions = append(h.Revisions, before.Number)
		}
		if has := report.Status.Revision; has != nil && row.Status.State != rollout.Done { // neither may have been written yet
			if written := settings.Find(known, has); written != nil && !slices.Contains(h.Revisions, written.Number) {
				h.Revisions = append(h.Revisions, written.Number)
			}
		}
		if f.clusters[proxy] == nil {
			f.clusters[proxy], f.machines[proxy] = map[int64]int32{}, map[int64]int32{}
		}
		f.clusters[proxy][s.Number]++
		f.machines[proxy][s.Number] += machines
	}
	f.holders[proxy] = append(f.holders[proxy], h)
}

// OverrideHash tells of which ProxyOverride in effect a rollout lets a cluster wait; empty where there is none.
func OverrideHash(override *v1alpha1.ProxyOverride) string {
	if override == nil {
		return ""
	}
	return hashOf(inputs.LastingOverride(override))
}

// FactsHash tells of which facts a rollout lets a cluster wait; empty where there are none.
func FactsHash(facts *v1alpha1.ReportedFacts) string {
	if facts == nil {
		return ""
	}
	return hashOf(v1alpha1.ReportedFacts{Version: facts.Version, Values: facts.Values, Metadata: facts.Metadata, Domains: facts.Domains})
}

func hashOf(value any) string {
	text, _ := json.Marshal(value) // strings; maps are sorted
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}
