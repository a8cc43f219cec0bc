package rollout

import (
	"cmp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

// Account is the credentials of a revision, by their keyed fingerprints; empty where there are none.
type Account struct {
	Revision          int64
	Current, Previous string
}

// Holder is a cluster that has or had a proxy, as far as it may have credentials.
type Holder struct {
	Cluster      string    // namespace/name
	Elsewhere    bool      // it is of no rollout of this CorporateProxy now: only what was seen counts
	Proxied      bool      // its Secrets have a proxy
	Revisions    []int64   // that its Secrets may have: one, or two while it is changed; none: unknown
	Since        time.Time // when they got it
	Outdated     int32     // machines
	MachinePools int32     // outdated ones
	Relay        bool      // its machines follow the Secret while they run; outdated ones may be older than that
	Observed     *v1alpha1.Observed
}

// Credentials returns where the credentials of each revision are in use, those of the target first, and the condition
// OldCredentialsUnseen: whether older credentials are no longer in use. It is nil while there are no older ones. last is
// what Credentials returned before: it has credentials whose revision is no longer kept, and they are looked for until
// unseen, which tells that the condition was True.
//
// The condition is True if every cluster was observed for two periods without a gap, and its last two looks came after
// its Secrets had changed and found no old credentials. If something cannot be seen, it is Unknown, never True.
func Credentials(target int64, accounts []Account, holders []Holder, last []v1alpha1.CredentialsStatus, unseen bool, now time.Time) ([]v1alpha1.CredentialsStatus, *metav1.Condition) {
	c := census{by: map[string]*v1alpha1.CredentialsStatus{}, accounts: accounts}
	for i := len(accounts) - 1; i >= 0; i-- {
		if a := accounts[i]; a.Revision == target {
			c.current = a.Current
		}
	}
	c.add(c.current, target)
	for i := len(accounts) - 1; i >= 0; i-- {
		c.add(accounts[i].Current, accounts[i].Revision)
		c.add(accounts[i].Previous, accounts[i].Revision)
	}
	for _, l := range last {
		if !unseen {
			c.add(l.Fingerprint, l.Revision)
		}
	}
	for i := range holders {
		c.count(&holders[i], now)
	}
	var all []v1alpha1.CredentialsStatus
	for _, fingerprint := range c.order {
		all = append(all, *c.by[fingerprint])
	}
	// What is in use stays, where there are more than the status has room for.
	slices.SortStableFunc(all, func(a, b v1alpha1.CredentialsStatus) int { return cmp.Compare(c.rank(a), c.rank(b)) })
	return all[:min(len(all), maxCredentials)], c.judge()
}

func (c *census) rank(s v1alpha1.CredentialsStatus) int {
	switch {
	case s.Fingerprint == c.current:
		return 0
	case s.Clusters+s.Namespaces+s.Relays+s.Pods > 0:
		return 1
	}
	return 2
}

// In a message.
const (
	maxNamed    = 2 // places of a cluster
	maxClusters = 3 // of a place
)

const maxCredentials = 20 // the bound of the CRD's schema

// census counts who has what.
type census struct {
	current  string
	accounts []Account
	order    []string
	by       map[string]*v1alpha1.CredentialsStatus

	old                                           int32    // clusters whose Secrets have older ones
	unknown, unobserved, pools, relays, strangers []string // clusters of which something is not seen
	partly, uncounted                             []string
	unseen                                        string // of one of them
	recent                                        bool
}

func (c *census) add(fingerprint string, revision int64) {
	if fingerprint != "" && c.by[fingerprint] == nil {
		c.order = append(c.order, fingerprint)
		c.by[fingerprint] = &v1alpha1.CredentialsStatus{Fingerprint: fingerprint, Revision: revision}
	}
}

func (c *census) count(h *Holder, now time.Time) {
	if h.Elsewhere {
		c.observe(h)
		return
	}
	switch {
	case !longEnough(h, now):
		c.unobserved = append(c.unobserved, h.Cluster)
	case len(h.Observed.Unseen) > 0:
		c.partly = append(c.partly, h.Cluster)
		c.unseen = cmp.Or(c.unseen, strings.Join(h.Observed.Unseen[:min(len(h.Observed.Unseen), maxNamed)], ", "))
	case len(h.Observed.Credentials) == 0 && len(c.inSecrets(h)) > 0:
		c.uncounted = append(c.uncounted, h.Cluster) // as by a chart from before there were fingerprints
	}
	if h.Proxied && len(h.Revisions) == 0 {
		c.unknown = append(c.unknown, h.Cluster)
	}
	old := false
	for _, fingerprint := range c.inSecrets(h) {
		c.by[fingerprint].Clusters++
		old = old || fingerprint != c.current
	}
	if old {
		c.old++
	}
	// Nobody knows which of the older ones a machine has, so it counts for each.
	for fingerprint, status := range c.by {
		if fingerprint != c.current && !h.Relay {
			status.Machines += h.Outdated
		}
	}
	if h.Relay && h.Outdated > 0 {
		c.relays = append(c.relays, h.Cluster)
	}
	if h.MachinePools > 0 {
		c.pools = append(c.pools, h.Cluster)
	}
	c.observe(h)
}

// inSecrets returns the credentials that a cluster's Secrets may have, as current or previous ones.
func (c *census) inSecrets(h *Holder) []string {
	var found []string
	for _, a := range c.accounts {
		if !h.Proxied || !slices.Contains(h.Revisions, a.Revision) {
			continue
		}
		for _, fingerprint := range []string{a.Current, a.Previous} {
			if fingerprint != "" && !slices.Contains(found, fingerprint) {
				found = append(found, fingerprint)
			}
		}
	}
	return found
}

// observe adds the observations of a cluster. For a cluster elsewhere, it skips fingerprints that no revision here has.
func (c *census) observe(h *Holder) {
	if h.Observed == nil {
		return
	}
	stranger := false
	for _, seen := range h.Observed.Credentials {
		status := c.by[seen.Fingerprint]
		recent := seen.LastUsed != nil && !quiet(h.Observed, seen.LastUsed.Time)
		if status == nil {
			stranger = stranger || recent || seen.Namespaces+seen.Relays+seen.Pods > 0
			continue
		}
		status.Namespaces += seen.Namespaces
		status.Relays += seen.Relays
		status.Pods += seen.Pods
		status.Refused = status.Refused || seen.Refused && !h.Elsewhere // or one cluster of anybody's hinders an undo
		c.recent = c.recent || recent && seen.Fingerprint != c.current
	}
	if stranger && !h.Elsewhere {
		c.strangers = append(c.strangers, h.Cluster)
	}
}

// quiet reports whether there were two looks since then, the last one among them. Looks are not exactly one period apart.
func quiet(o *v1alpha1.Observed, since time.Time) bool {
	return o.Period != nil && o.Time.Sub(since) >= o.Period.Duration*3/2
}

// longEnough reports whether observations go on now, for two periods without a gap, and have been about what the Secrets have.
func longEnough(h *Holder, now time.Time) bool {
	o := h.Observed
	if o == nil || o.Since == nil || o.Period == nil || o.Period.Duration <= 0 {
		return false
	}
	two := 2 * o.Period.Duration
	return now.Sub(o.Time.Time) <= two && o.Time.Sub(o.Since.Time) >= two && quiet(o, h.Since)
}

// judge returns the condition OldCredentialsUnseen.
func (c *census) judge() *metav1.Condition {
	var old v1alpha1.CredentialsStatus
	for fingerprint, status := range c.by {
		if fingerprint == c.current {
			continue
		}
		old.Fingerprint = fingerprint
		old.Clusters = c.old
		old.Machines = max(old.Machines, status.Machines)
		old.Namespaces += status.Namespaces
		old.Relays += status.Relays
		old.Pods += status.Pods
	}
	if old.Fingerprint == "" {
		return nil
	}
	condition := &metav1.Condition{Type: v1alpha1.ConditionOldCredentialsUnseen, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonUnseen}
	places := c.notSeen()
	switch uses := inUse(old, c.recent); {
	case uses != "":
		condition.Status, condition.Reason, condition.Message = metav1.ConditionFalse, v1alpha1.ReasonStillInUse, "older credentials are in use: "+uses
	case len(places) > 0:
		condition.Status, condition.Reason = metav1.ConditionUnknown, v1alpha1.ReasonNotObserved
	default:
		condition.Message = "no cluster, machine, namespace, relay or pod that is observed has or uses older credentials"
	}
	if len(places) > 0 {
		condition.Message = strings.TrimPrefix(condition.Message+"; not seen: "+strings.Join(places, ", "), "; ")
	}
	condition.Message += "; nobody sees bootstrap data, Helm's history and programs of others"
	return condition
}

func inUse(old v1alpha1.CredentialsStatus, recent bool) string {
	var parts []string
	for _, part := range []struct {
		n    int32
		noun string
	}{
		{old.Clusters, "Secrets of %d clusters"},
		{old.Machines, "up to %d machines"},
		{old.Namespaces, "copies in %d namespaces"},
		{old.Relays, "%d relays"},
		{old.Pods, "%d pods"},
	} {
		if part.n > 0 {
			parts = append(parts, counted(part.noun, int(part.n)))
		}
	}
	if recent && parts == nil {
		parts = append(parts, "they were seen or used until a moment ago, and two observations without them are to follow")
	}
	return strings.Join(parts, ", ")
}

// notSeen names the places where older credentials may be and nobody looks.
func (c *census) notSeen() []string {
	var places []string
	for _, place := range []struct {
		in   []string
		text string
	}{
		{c.unobserved, "pods, relays and copies in namespaces of %d clusters, by status.observed"},
		{c.partly, "what is named in status.observed.unseen of %d clusters, as " + strings.ReplaceAll(c.unseen, "%", "%%")},
		{c.uncounted, "whose credentials copies, relays and pods of %d clusters have: nobody counts there"},
		{c.strangers, "whose are credentials in %d clusters that no revision has which is kept"},
		{c.relays, "outdated machines of %d clusters with Relay, which may be older than it and have literal URLs"},
		{c.pools, "instances of outdated MachinePools in %d clusters"},
		{c.unknown, "the Secrets of %d clusters whose revision is unknown"},
	} {
		if len(place.in) > 0 {
			places = append(places, counted(strings.Replace(place.text, "%d clusters", "%d clusters"+named(place.in), 1), len(place.in)))
		}
	}
	return places
}

// named returns the first clusters in alphabetical order, for a text with verbs.
func named(clusters []string) string {
	slices.Sort(clusters)
	more := ""
	if len(clusters) > maxClusters {
		clusters, more = clusters[:maxClusters], ", …"
	}
	return " (" + strings.Join(clusters, ", ") + more + ")"
}
