package lint

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/core/render"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/noproxy"
	"github.com/fairlead-io/fairlead/noproxy/dialect"
)

// covers asks Go, which reads every entry as it is meant.
func covers(list *dialect.GoList, host string) bool {
	_, reason, ok := list.Match(strings.Trim(host, "[]"), "443")
	return ok && reason != ""
}

// Covers reports whether a list covers a host.
func Covers(list, host string) bool { return covers(dialect.CompileGo(list), host) }

// missing names what the cluster needs and the list lacks: without it, webhooks,
// the API server or the cluster's own services are asked for through the proxy.
func missing(in Input) []Finding {
	if in.Cluster == nil {
		return nil
	}
	list := dialect.CompileGo(in.Any)
	var findings []Finding
	lacks := func(code Code, what, field, host, mend string) {
		if host != "" && !covers(list, host) {
			findings = append(findings, Finding{
				Code: code, Severity: Error, Mend: "add " + mend,
				Why: fmt.Sprintf("does not cover %s (%s, %s)", what, in.Cluster.Object(), field),
			})
		}
	}
	domain := cmp.Or(strings.TrimSuffix(in.Cluster.ServiceDomain, "."), "cluster.local")
	lacks(MissingServices, "the names of services", "webhooks are called by them", "name.namespace.svc", ".svc")
	lacks(MissingServices, "the full names of services", "spec.clusterNetwork.serviceDomain", "name.namespace.svc."+domain, "."+domain)
	networks := func(code Code, what, field string, cidrs []string) {
		for i, cidr := range cidrs {
			at := fmt.Sprintf("%s[%d]", field, i)
			if host := within(cidr); host != "" {
				if !leftOut(in.Omitted, host) {
					lacks(code, what+" "+cidr, at, host, mendOf(in, cidr))
				}
			} else {
				findings = append(findings, Finding{
					Code: code, Severity: Error, Mend: "write the network with its length, such as 10.96.0.0/12",
					Why: fmt.Sprintf("does not cover %s: %s is an address (%s, %s)", what, cidr, in.Cluster.Object(), at),
				})
			}
		}
	}
	networks(MissingServices, "the service network", "spec.clusterNetwork.services.cidrBlocks", in.Cluster.ServiceCIDRs)
	if len(in.Cluster.ServiceCIDRs) == 0 && !slices.ContainsFunc(usualServices, func(host string) bool { return covers(list, host) }) {
		findings = append(findings, Finding{
			Code: MissingServices, Severity: Warning, Mend: "write the service network of the cluster there, or list it",
			Why: fmt.Sprintf("%s names no service network (spec.clusterNetwork.services.cidrBlocks), and the list covers none that clusters usually have", in.Cluster.Object()),
		})
	}
	networks(MissingPods, "the pod network", "spec.clusterNetwork.pods.cidrBlocks", in.Cluster.PodCIDRs)
	lacks(MissingEndpoint, "the control-plane endpoint "+in.Cluster.EndpointHost, "spec.controlPlaneEndpoint.host", in.Cluster.EndpointHost, in.Cluster.EndpointHost)
	return findings
}

// usualServices are addresses of the service networks that control planes take by themselves: kubeadm, k0s and k0smotron;
// RKE2 and K3s; EKS, which has two.
var usualServices = []string{"10.96.0.1", "10.43.0.1", "10.100.0.1", "172.20.0.1"}

// within returns an address of a network that nobody lists by itself.
func within(cidr string) string {
	prefix, err := netip.ParsePrefix(cidr)
	if err != nil {
		return ""
	}
	addr := prefix.Masked().Addr()
	for range 23 {
		if next := addr.Next(); prefix.Contains(next) {
			addr = next
		}
	}
	return addr.String()
}

func broad(in Input) []Finding {
	var findings []Finding
	for _, item := range in.Entries {
		if why := noproxy.TooBroad(item.Entry); why != "" {
			findings = append(findings, Finding{
				Code: TooBroad, Severity: Error, Entries: []Entry{entryOf(item)}, Why: why,
				Mend: "list the domains and networks that are yours",
			})
		}
	}
	return findings
}

// shadowed finds entries below a listed domain that no client of today misses
// where they are gone. An address in a listed network is not one of them, nor are the names of the API server, which Fairlead lists.
func shadowed(in Input) []Finding {
	parents := map[string]noproxy.List{}
	written, _ := noproxy.ParseList(in.Any, noproxy.Source{}) // what cannot be read is in Refusals
	for _, item := range written {
		if e := item.Entry; (e.Kind == noproxy.Subdomains || e.Kind == noproxy.Domain) && e.Port == 0 && !e.Rooted {
			parents[e.Name] = append(parents[e.Name], item)
		}
	}
	missed := misses{in, map[string]bool{}}
	var findings []Finding
	for _, item := range in.Entries {
		if parent := closest(parents, item.Entry); parent != nil && !resolve.NamesAPIServer(item.Entry) && !missed.by(item.Entry, parent) {
			findings = append(findings, Finding{
				Code: Shadowed, Severity: Info, Entries: []Entry{entryOf(item)},
				Why: fmt.Sprintf("%s covers it for every client of today", parent[len(parent)-1].Entry), Mend: "remove it",
			})
		}
	}
	return findings
}

// closest returns how the closest listed domain above an entry is written.
func closest(parents map[string]noproxy.List, e noproxy.Entry) noproxy.List {
	if e.Rooted {
		return nil
	}
	for _, above, ok := strings.Cut(e.Name, "."); ok; _, above, ok = strings.Cut(above, ".") {
		if parent := parents[above]; parent != nil {
			return parent
		}
	}
	return nil
}

// misses asks whether entries are missed, and remembers the answers by class:
// clients tell classes of entries apart, not entries, and a long list has many
// of each.
type misses struct {
	in    Input
	known map[string]bool
}

// by reports whether some client decides otherwise without the entry.
func (m misses) by(e noproxy.Entry, parent noproxy.List) bool {
	without := m.spelled(parent)
	class := fmt.Sprint(e.Kind, e.Port != 0)
	for i, item := range parent {
		class += fmt.Sprint(item.Entry.Kind, without[i][:1] == "*")
	}
	if _, asked := m.known[class]; !asked {
		both := append(slices.Clip(parent), noproxy.Item{Entry: e})
		m.known[class] = differ(probes(e, both),
			readers(strings.Join(m.spelled(both), ","), both, true), readers(strings.Join(without, ","), parent, true))
	}
	return m.known[class]
}

func (m misses) spelled(list noproxy.List) []string {
	texts := list.Texts()
	for i, text := range texts {
		texts[i] = m.in.spelling(text)
	}
	return texts
}

// differ reports whether clients with one list and with another send a request
// different ways.
func differ(asked []probe, some, others []reader) bool {
	for _, p := range asked {
		target, err := dialect.ParseTarget(p.url)
		if err != nil {
			continue // a name that can stand in no URL
		}
		for i := range some {
			if some[i].decide(target).Route != others[i].decide(target).Route {
				return true
			}
		}
	}
	return false
}

// portsOftenMeant are numbers that few addresses end with.
var portsOftenMeant = []string{"80", "443", "3128", "5000", "6443", "8080", "8081", "8443", "9090", "9443"}

// portLike finds IPv6 addresses whose end may be meant as a port. Info: who means the address has nothing to mend.
func portLike(in Input) []Finding {
	var findings []Finding
	for _, item := range in.Entries {
		text := item.Entry.String()
		at := strings.LastIndexByte(text, ':')
		if item.Entry.Kind != noproxy.Addr || item.Entry.Port != 0 || !strings.Contains(text[:max(at, 0)], "::") || !slices.Contains(portsOftenMeant, text[at+1:]) {
			continue
		}
		findings = append(findings, Finding{
			Code: PortLike, Severity: Info, Entries: []Entry{entryOf(item)},
			Why:  fmt.Sprintf("is one address, which ends with %s, and not port %s of %s", text[at+1:], text[at+1:], text[:at]),
			Mend: fmt.Sprintf("list %s if the port is meant: few clients read one", text[:at]),
		})
	}
	return findings
}

// pamLine is the longest list that fits into a line of /etc/environment.
const pamLine = render.MaxPAMLine - len("NO_PROXY=")

// TooLong finds a list that is longer than places it goes to can carry.
func TooLong(list string) []Finding {
	finding := Finding{Code: Length, Severity: Info, Mend: "list domains instead of hosts, and networks instead of addresses"}
	switch n := len(list); {
	case n > render.MaxNoProxyBytes:
		finding.Severity = Error
		finding.Why = fmt.Sprintf("has %d bytes; no more than %d are written, since no process can be started with them", n, render.MaxNoProxyBytes)
	case n > pamLine:
		finding.Why = fmt.Sprintf("has %d bytes; in /etc/environment, Linux-PAM 1.5 drops a line of more than %d and all lines after it", n, pamLine)
	default:
		return nil
	}
	return []Finding{finding}
}
