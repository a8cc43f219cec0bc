package lint

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/fairlead-io/fairlead/operator/noproxy"
	"github.com/fairlead-io/fairlead/operator/noproxy/dialect"
)

// parse reads a list as far as it can be read.
func parse(list string) noproxy.List {
	var parsed noproxy.List
	for _, token := range noproxy.Split(list) {
		if entry, err := noproxy.Parse(token); err == nil {
			parsed = append(parsed, noproxy.Item{Entry: entry})
		}
	}
	return parsed
}

// covers asks Go, which reads every entry as it is meant.
func covers(list *dialect.GoList, host string) bool {
	_, reason, found := list.Match(strings.Trim(host, "[]"), "443")
	return found && reason != ""
}

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
	domain := strings.TrimSuffix(in.Cluster.ServiceDomain, ".")
	if domain == "" {
		domain = "cluster.local"
	}
	lacks(MissingServices, "the names of services", "webhooks are called by them", "name.namespace.svc", ".svc")
	lacks(MissingServices, "the full names of services", "spec.clusterNetwork.serviceDomain", "name.namespace.svc."+domain, "."+domain)
	for i, cidr := range in.Cluster.ServiceCIDRs {
		lacks(MissingServices, "the service network "+cidr, fmt.Sprintf("spec.clusterNetwork.services.cidrBlocks[%d]", i), within(cidr), cidr)
	}
	for i, cidr := range in.Cluster.PodCIDRs {
		lacks(MissingPods, "the pod network "+cidr, fmt.Sprintf("spec.clusterNetwork.pods.cidrBlocks[%d]", i), within(cidr), cidr)
	}
	lacks(MissingEndpoint, "the control-plane endpoint "+in.Cluster.EndpointHost, "spec.controlPlaneEndpoint.host", in.Cluster.EndpointHost, in.Cluster.EndpointHost)
	return findings
}

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

// shadowed finds entries that another one covers for every client: a name below
// a listed domain. An address in a listed network is not one of them.
func shadowed(in Input) []Finding {
	parents := map[string]noproxy.Entry{}
	for _, item := range in.Entries {
		if e := item.Entry; (e.Kind == noproxy.Subdomains || e.Kind == noproxy.Domain) && e.Port == 0 && !e.Rooted {
			parents[e.Name] = e
		}
	}
	var findings []Finding
	for _, item := range in.Entries {
		e := item.Entry
		if e.Name == "" || e.Rooted {
			continue
		}
		for name := e.Name; ; {
			_, rest, found := strings.Cut(name, ".")
			if !found {
				break
			}
			if parent, listed := parents[rest]; listed {
				findings = append(findings, Finding{
					Code: Shadowed, Severity: Info, Entries: []Entry{entryOf(item)},
					Why: fmt.Sprintf("%s covers it for every client", parent), Mend: "remove it",
				})
				break
			}
			name = rest
		}
	}
	return findings
}

func omitted(in Input) []Finding {
	var findings []Finding
	for _, item := range in.Omitted {
		why := "an IPv6 network makes some clients fail for every URL; drop-ins have it, pods and values do not"
		mend := "use names; on a cluster with IPv6 networks of its own it is written nevertheless"
		if item.Entry.Kind == noproxy.Addr {
			why = "an IPv6 address with a port needs brackets, which make some clients fail for every URL; drop-ins have it, pods and values do not"
			mend = "list the address without a port"
		}
		findings = append(findings, Finding{Code: Omitted, Severity: Warning, Entries: []Entry{entryOf(item)}, Why: why, Mend: mend})
	}
	return findings
}

// Where a list goes, and how much of it fits: pam_env of Linux-PAM 1.4 and 1.5
// drops a longer line of /etc/environment with everything after it; execve(2)
// refuses a longer string.
const (
	pamLine    = 8190 - len("NO_PROXY=")
	execString = 131_072 - len("NO_PROXY=\x00")
)

func tooLong(in Input) []Finding {
	finding := Finding{Code: Length, Severity: Info, Mend: "list domains instead of hosts, and networks instead of addresses"}
	switch n := len(in.Any); {
	case n > execString:
		finding.Severity = Error
		finding.Why = fmt.Sprintf("has %d bytes; no process can be started with more than %d", n, execString)
	case n > pamLine:
		finding.Why = fmt.Sprintf("has %d bytes; in /etc/environment, Linux-PAM 1.5 drops a line of more than %d and all lines after it", n, pamLine)
	default:
		return nil
	}
	return []Finding{finding}
}
