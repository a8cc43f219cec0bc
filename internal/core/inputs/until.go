package inputs

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/noproxy"
)

// End is when something ends that a CorporateProxy or a ProxyOverride says.
type End struct {
	What   string // WholeOverride, or an entry
	Field  string
	Time   time.Time
	Owner  string
	Reason string
}

// WholeOverride stands in End.What for a whole ProxyOverride, in place of an entry.
const WholeOverride = "ProxyOverride"

// EndsOf returns the ends of the entries of a CorporateProxy, the soonest first.
func EndsOf(proxy *v1alpha1.CorporateProxy) []End { return sorted(endsOfEntries(proxy.Spec.NoProxy)) }

// EndsOfOverride returns the ends of a ProxyOverride and its entries, the soonest first. What would end after the whole does
// has no end of its own.
func EndsOfOverride(o *v1alpha1.ProxyOverride) []End {
	if o == nil {
		return nil
	}
	ends := endsOfEntries(o.Spec.NoProxy)
	if until := o.Spec.Until; until != nil {
		ends = slices.DeleteFunc(ends, func(e End) bool { return !e.Time.Before(until.Time) })
		ends = append(ends, End{What: WholeOverride, Field: "spec", Time: until.Time, Owner: o.Spec.Owner, Reason: o.Spec.Reason})
	}
	return sorted(ends)
}

func endsOfEntries(entries []v1alpha1.NoProxyEntry) []End {
	var ends []End
	for i, entry := range entries {
		if entry.Until != nil && !hasEnded(entry) {
			ends = append(ends, End{
				What: noproxy.Redacted(entry.Value), Field: fmt.Sprintf("spec.noProxy[%d]", i),
				Time: entry.Until.Time, Owner: entry.Owner, Reason: entry.Reason,
			})
		}
	}
	return ends
}

func sorted(ends []End) []End {
	slices.SortStableFunc(ends, func(a, b End) int { return cmp.Compare(a.Time.UnixNano(), b.Time.UnixNano()) })
	return ends
}

// Next returns the first of sorted ends that is to come, if one is.
func Next(ends []End, now time.Time) (End, bool) {
	at := slices.IndexFunc(ends, func(e End) bool { return now.Before(e.Time) })
	if at < 0 {
		return End{}, false
	}
	return ends[at], true
}

// Ended returns the positions of the entries that have ended, and when the next one does; zero: none does.
func Ended(entries []v1alpha1.NoProxyEntry, now time.Time) (ended []int, next time.Time) {
	for i := range entries {
		switch until := entries[i].Until; {
		case until == nil:
		case !now.Before(until.Time):
			ended = append(ended, i)
		case next.IsZero() || until.Time.Before(next):
			next = until.Time
		}
	}
	return ended, next
}

// InEffect returns a CorporateProxy as it is at a time. What has ended keeps its place, without its value, so that every other
// entry is called what it is called in the object. Where nothing has ended, it is the same object.
func InEffect(proxy *v1alpha1.CorporateProxy, now time.Time) *v1alpha1.CorporateProxy {
	ended, _ := Ended(proxy.Spec.NoProxy, now)
	return Without(proxy, ended)
}

// Without is InEffect for who knows what has ended.
func Without(proxy *v1alpha1.CorporateProxy, ended []int) *v1alpha1.CorporateProxy {
	if len(ended) == 0 {
		return proxy
	}
	proxy = proxy.DeepCopy()
	empty(proxy.Spec.NoProxy, ended)
	return proxy
}

// AllInEffect is InEffect for several.
func AllInEffect(proxies []v1alpha1.CorporateProxy, now time.Time) []v1alpha1.CorporateProxy {
	all := make([]v1alpha1.CorporateProxy, len(proxies))
	for i := range proxies {
		all[i] = *InEffect(&proxies[i], now)
	}
	return all
}

// OverrideInEffect is InEffect for a ProxyOverride, which may be nil. It returns nil for one that has ended.
func OverrideInEffect(o *v1alpha1.ProxyOverride, now time.Time) *v1alpha1.ProxyOverride {
	if o == nil || o.Spec.Until != nil && !now.Before(o.Spec.Until.Time) {
		return nil
	}
	ended, _ := Ended(o.Spec.NoProxy, now)
	if len(ended) == 0 {
		return o
	}
	o = o.DeepCopy()
	empty(o.Spec.NoProxy, ended)
	return o
}

func empty(entries []v1alpha1.NoProxyEntry, ended []int) {
	for _, at := range ended {
		entries[at] = v1alpha1.NoProxyEntry{Until: entries[at].Until}
	}
}

// hasEnded is for an entry of an object as it is in effect.
func hasEnded(entry v1alpha1.NoProxyEntry) bool { return entry.Value == "" && entry.Until != nil }

// Lasting returns the entries of an object in effect, less those that have ended, and without their ends: what they mean now. The
// list is a new one.
func Lasting(entries []v1alpha1.NoProxyEntry) []v1alpha1.NoProxyEntry {
	lasting := slices.DeleteFunc(slices.Clone(entries), hasEnded)
	for i := range lasting {
		lasting[i].Until = nil
	}
	if len(lasting) == 0 {
		return nil
	}
	return lasting
}

// LastingOverride returns what a ProxyOverride in effect means now, less all that is said for people about its ends.
func LastingOverride(o *v1alpha1.ProxyOverride) v1alpha1.ProxyOverrideSpec {
	spec := o.Spec
	spec.Until, spec.Owner, spec.Reason = nil, "", ""
	spec.NoProxy = Lasting(spec.NoProxy)
	for i := range spec.NoProxy {
		spec.NoProxy[i].Owner = ""
	}
	return spec
}

const needsOwner = "an entry with until needs owner and reason"

// unowned returns the position of an entry with an end that lacks what the CRD asks for; -1: there is none. A manifest that only
// the command line has seen has not been through it.
func unowned(entries []v1alpha1.NoProxyEntry) int {
	return slices.IndexFunc(entries, func(e v1alpha1.NoProxyEntry) bool {
		return e.Until != nil && !hasEnded(e) && (e.Owner == "" || e.Reason == "")
	})
}

// CheckOverride refuses what the CRD does: an end without owner and reason. The error is a *resolve.Problem.
func CheckOverride(o *v1alpha1.ProxyOverride) error {
	object := "ProxyOverride " + cmp.Or(o.Namespace, "default") + "/" + o.Name
	if o.Spec.Until != nil && (o.Spec.Owner == "" || o.Spec.Reason == "") {
		return resolve.NewProblem(resolve.ReasonInvalidOverride, object, "spec", "a ProxyOverride with until needs owner and reason")
	}
	if at := unowned(o.Spec.NoProxy); at >= 0 {
		return resolve.NewProblem(resolve.ReasonInvalidOverride, object, fmt.Sprintf("spec.noProxy[%d]", at), needsOwner)
	}
	return nil
}
