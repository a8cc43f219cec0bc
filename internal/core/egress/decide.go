package egress

import (
	"net/netip"
	"slices"
	"strings"
)

// Policy is the part of a relay's configuration that is about clients and destinations.
type Policy struct {
	Sources []netip.Prefix // of clients; none: every address may ask
	Denied  []netip.Prefix // destinations that nobody reaches: nodes, the API server
	// DeniedNames are destinations that nobody reaches by that name, in lower case.
	DeniedNames []string
	Direct      Direct
	Domain      string // of Services, such as cluster.local
}

// Direct are the destinations to which the relay may connect itself, of those that NO_PROXY covers, and the namespaces
// whose Services it may reach. Empty, as it is by default, every request goes to the company's proxy or is refused: a relay
// must be no way around NetworkPolicies.
type Direct struct {
	Networks   []netip.Prefix
	Domains    []string // each with all names below it
	Namespaces []string
	// Listed are all that NO_PROXY covers, Services among them: for a relay beside one client, in the same network, which may
	// connect to them itself.
	Listed bool
}

// Request is a client's request before a decision.
type Request struct {
	Destination
	Namespace string // of the client, as it says itself; empty if it does not
	Listed    bool   // NO_PROXY covers the destination
	Service   bool   // the name that Service returns exists
}

// Decision is where a request goes.
type Decision struct {
	Direct bool   // or else through the company's proxy
	Dial   string // host:port, with the full name of a Service
}

// CheckSource refuses a client outside the configured networks.
func (p Policy) CheckSource(client netip.Addr) *Refusal {
	client = client.Unmap()
	if len(p.Sources) == 0 || slices.ContainsFunc(p.Sources, func(s netip.Prefix) bool { return s.Contains(client) }) {
		return nil
	}
	return refuse(Source, "%s is in none of the networks that may use this relay", client)
}

// Service returns the full name of the Service that a name stands for, or nothing. A name without a dot is of the client's
// namespace, and a name with .svc says itself that it is of a Service. A pod's resolver takes github.com for a Service github of
// the namespace com, too. The relay does not: who makes that namespace must not take the name from all others.
func (p Policy) Service(d Destination, namespace string) string {
	switch {
	case d.Name == "":
		return ""
	case isServiceName(d.Name, p.Domain):
		return strings.TrimSuffix(d.Name, "."+p.Domain) + "." + p.Domain
	case d.Name == "kubernetes.default":
		return d.Name + ".svc." + p.Domain
	case !strings.Contains(d.Name, ".") && namespace != "":
		return d.Name + "." + namespace + ".svc." + p.Domain
	}
	return ""
}

func isServiceName(name, domain string) bool {
	name = strings.TrimSuffix(name, "."+domain)
	return strings.HasSuffix(name, ".svc") && strings.Count(name, ".") > 1
}

// Decide says where a request goes. What a name resolves to is checked when it is dialled: see CheckAddress.
func (p Policy) Decide(r Request) (Decision, *Refusal) {
	if refusal := p.checkDestination(r.Destination); refusal != nil {
		return Decision{}, refusal
	}
	if p.Direct.Listed && r.Listed {
		return Decision{Direct: true, Dial: r.String()}, nil
	}
	if service := p.Service(r.Destination, r.Namespace); service != "" && (r.Service || isServiceName(r.Name, p.Domain)) {
		return p.toService(r, service)
	}
	if slices.Contains(shortMetadataNames, r.Name) {
		return Decision{}, refuse(Metadata, "%s is a metadata service: no relay leads there", r.Name)
	}
	d := Decision{Dial: r.String()}
	d.Direct = r.Listed && p.opens(r.Destination)
	return d, nil
}

// MayBeDirect reports whether it matters for any destination that NO_PROXY covers it.
func (p Policy) MayBeDirect() bool {
	return p.Direct.Listed || len(p.Direct.Networks)+len(p.Direct.Domains) > 0
}

func (p Policy) opens(d Destination) bool {
	return slices.ContainsFunc(p.Direct.Networks, func(n netip.Prefix) bool { return d.Addr.IsValid() && n.Contains(d.Addr) }) ||
		slices.ContainsFunc(p.Direct.Domains, func(domain string) bool { return d.Name == domain || strings.HasSuffix(d.Name, "."+domain) })
}

// Names of metadata services. A company's proxy that is a machine of a cloud would answer with its own credentials. Those without
// a dot may be Services, too.
var (
	metadataNames      = []string{"metadata.google.internal", "metadata.goog", "instance-data.ec2.internal", "metadata.tencentyun.com"}
	shortMetadataNames = []string{"metadata", "instance-data"}
)

// Names that hosts files of Debian and Red Hat have: the company's proxy reads its own.
var loopbackNames = []string{
	"localhost", "localhost.localdomain", "ip6-localhost", "ip6-loopback",
	"localhost4", "localhost4.localdomain4", "localhost6", "localhost6.localdomain6",
}

func (p Policy) checkDestination(d Destination) *Refusal {
	switch name := d.Name; {
	case name == "":
		return CheckAddress(d.Addr, p.Denied)
	case slices.Contains(loopbackNames, name), strings.HasSuffix(name, ".localhost"):
		return refuse(Loopback, "%s is the loopback interface of whoever connects: no relay leads there", name)
	case slices.Contains(metadataNames, name):
		return refuse(Metadata, "%s is a metadata service: no relay leads there", name)
	case slices.Contains(p.DeniedNames, name):
		return refuse(Denied, "%s is a destination that the relay's configuration denies", name)
	}
	return nil
}

// toService refuses a Service by what the client should write: directly it is reached with every client, and by its own
// NetworkPolicies.
func (p Policy) toService(r Request, service string) (Decision, *Refusal) {
	short := strings.TrimSuffix(service, "."+p.Domain)
	labels := strings.Split(short, ".")
	namespace := labels[len(labels)-2]
	switch {
	case short == "kubernetes.default.svc":
		return Decision{}, refuse(Denied, "%s is the API server: no relay leads there; ask https://%s without a proxy", r.Name, short)
	case slices.Contains(p.Direct.Namespaces, namespace):
		return Decision{Direct: true, Dial: Destination{Name: service, Port: r.Port}.String()}, nil
	case r.Name != short && r.Name != service:
		return Decision{}, refuse(ShortName, "%s is the Service %s: no NO_PROXY can name it, so it came to the relay; write %s, which NO_PROXY covers", r.Name, short, short)
	}
	return Decision{}, refuse(ServiceName, "%s is a Service of this cluster, which the company's proxy cannot reach: have NO_PROXY cover .svc for this client", r.Name)
}
