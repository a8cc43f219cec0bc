package picture

import (
	"cmp"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/inputs"
	"github.com/fairlead-io/fairlead/internal/core/rollout"
)

// Proxy is a CorporateProxy, and how far its newest revision has come.
type Proxy struct {
	Name     string        `json:"name"`
	Clusters int32         `json:"clusters"`
	Phase    rollout.Phase `json:"phase,omitempty"` // absent without spec.rollout: every change reaches all clusters at once
	Reason   string        `json:"reason,omitempty"`
	Revision int64         `json:"revision,omitempty"`
	Wave     string        `json:"wave,omitempty"`
	Updated  int32         `json:"updated"`
	Of       int32         `json:"of"`
	Failed   int32         `json:"failed"`
	More     string        `json:"more"`
}

func proxies(all []v1alpha1.CorporateProxy) []Proxy {
	list := make([]Proxy, 0, len(all))
	for i := range all {
		proxy := &all[i]
		p := Proxy{Name: proxy.Name, Clusters: proxy.Status.Clusters, More: moreOf(proxy)}
		if proxy.Spec.Rollout != nil {
			standing := rollout.StandingOf(proxy, nil)
			p.Phase, p.Reason = standing.Phase, standing.Reason
		}
		if r := proxy.Status.Rollout; proxy.Spec.Rollout != nil && r != nil {
			p.Revision, p.Wave, p.Updated, p.Of, p.Failed = r.Revision, r.Wave, r.Updated, r.Of, r.Failed
		}
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b Proxy) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// Behind counts what has other settings than its cluster's Secrets.
type Behind struct {
	What     string       `json:"what"`
	Number   int          `json:"number"`
	Of       int          `json:"of,omitempty"`       // all of these, where they are counted
	Clusters int          `json:"clusters,omitempty"` // that have them
	Since    *metav1.Time `json:"since,omitempty"`    // the longest
	More     string       `json:"more"`
}

// The values of Behind.What.
const (
	OutdatedMachines = "Machines"
	OutdatedPools    = "MachinePools"
	OldPods          = "Pods"       // that started with older credentials
	OldRelays        = "Relays"     // that have or use older credentials
	OldCopies        = "Namespaces" // with a copy of older credentials
)

// behind counts machines and pools with older settings, and users of older credentials. A count of zero has no line.
func behind(in Input, clusters []Cluster) []Behind {
	machines := Behind{What: OutdatedMachines, More: "fairlead nodes --all-namespaces --outdated"}
	pools := Behind{What: OutdatedPools, More: machines.More}
	for _, c := range clusters {
		if c.Report == nil || c.Report.Status.Nodes == nil {
			continue
		}
		n := c.Report.Status.Nodes
		machines.add(n.Outdated, n.Machines, n.Since)
		pools.add(n.OutdatedMachinePools, n.MachinePools, n.Since)
	}
	all := []Behind{machines, pools}
	for i := range in.Proxies {
		all = append(all, older(&in.Proxies[i])...)
	}
	return slices.DeleteFunc(all, func(b Behind) bool { return b.Number == 0 })
}

func (b *Behind) add(outdated, all int32, since *metav1.Time) {
	b.Number += int(outdated)
	b.Of += int(all)
	if outdated == 0 {
		return
	}
	b.Clusters++
	if longest(since, b.Since) < 0 {
		b.Since = since
	}
}

// older counts who has or uses older credentials, as the operator counted them from what was observed.
func older(proxy *v1alpha1.CorporateProxy) []Behind {
	pods, relays, copies := Behind{What: OldPods}, Behind{What: OldRelays}, Behind{What: OldCopies}
	for i, c := range proxy.Status.Credentials {
		if i == 0 { // the current ones
			continue
		}
		pods.Number += int(c.Pods)
		relays.Number += int(c.Relays)
		copies.Number += int(c.Namespaces)
	}
	all := []Behind{pods, relays, copies}
	for i := range all {
		all[i].More = describe(proxy.Name)
	}
	return all
}

// Expiry is something that ends at a time.
type Expiry struct {
	What string      `json:"what"`
	Time metav1.Time `json:"time"`
	More string      `json:"more"`
}

// expires has the first certificate of each bundle that expires, and what ends next of the entries of each CorporateProxy and
// of each ProxyOverride.
func expires(in Input) []Expiry {
	list := []Expiry{}
	for i := range in.Proxies {
		proxy := &in.Proxies[i]
		if at := proxy.Status.TrustedCAExpiry; at != nil {
			list = append(list, Expiry{"a certificate of CorporateProxy " + proxy.Name, *at, describe(proxy.Name)})
		}
		if end, ok := inputs.Next(inputs.EndsOf(proxy), in.Now); ok {
			list = append(list, Expiry{ending(end.What+" of CorporateProxy "+proxy.Name, end.Owner, end.Reason), metav1.NewTime(end.Time), describe(proxy.Name)})
		}
	}
	for i := range in.Reports {
		report := &in.Reports[i]
		ends := report.Status.Override
		if ends == nil || ends.Ends == nil || !in.Now.Before(ends.Ends.Time) {
			continue
		}
		what := "ProxyOverride " + report.Namespace + "/" + report.Name
		if ends.What != inputs.WholeOverride {
			what = ends.What + " of " + what
		}
		list = append(list, Expiry{ending(what, ends.Owner, ends.Reason), *ends.Ends, fmt.Sprintf("kubectl describe proxyoverride --namespace %s %s", report.Namespace, report.Name)})
	}
	slices.SortFunc(list, func(a, b Expiry) int { return cmp.Or(a.Time.Compare(b.Time.Time), cmp.Compare(a.What, b.What)) })
	return list
}

func ending(what, owner, reason string) string { return what + " (" + owner + ": " + reason + ")" }
