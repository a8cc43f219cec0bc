package resolve

import (
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/core/cabundle"
	"github.com/fairlead-io/fairlead/internal/core/proxyurl"
	"github.com/fairlead-io/fairlead/noproxy"
)

// Form is the way a list is written out.
type Form string

// The forms: Exact keeps the order of the merge and adds nothing to it, Portable
// writes what clients agree upon, with what the provider is known to need. The
// second version of Portable has the same list and writes the proxy's URL so that
// every reader finds what is meant: see Literal, and the final dot of its host. The
// third has no IPv6 network for any client, and the names of the API server without
// the cluster's domain.
const (
	FormExact     Form = "Exact"
	FormPortable  Form = "Portable/v1"
	FormPortable2 Form = "Portable/v2"
	FormPortable3 Form = "Portable/v3"
)

// Literal reports whether Helm values in this form can be taken into variables of
// pods as they are: kubelet reads $ there, so it is written %24.
func (f Form) Literal() bool { return f.Version() >= noproxy.V2 }

// Version returns the version of form Portable; 0 for another form.
func (f Form) Version() noproxy.Version {
	return map[Form]noproxy.Version{FormPortable: noproxy.V1, FormPortable2: noproxy.V2, FormPortable3: noproxy.V3}[f]
}

// Forms are the forms that this program has.
var Forms = []Form{FormExact, FormPortable, FormPortable2, FormPortable3}

// DefaultForm is the form of a cluster that has none yet. A cluster keeps the
// form that its report records, so changing this changes new clusters only.
const DefaultForm = FormPortable3

// Mode says what a cluster's Secrets hold.
type Mode string

// The modes. In Direct and Unproxied the Secrets are there, but blank: Direct
// because the owner asked for it, Unproxied because no CorporateProxy selects
// the cluster and none ever did.
const (
	ModeProxied   Mode = "Proxied"
	ModeDirect    Mode = "Direct"
	ModeUnproxied Mode = "Unproxied"
)

// Grant says which NO_PROXY entries a cluster's owner may add.
type Grant string

// The grants: nothing, anything that is not TooBroad, anything.
const (
	GrantForbidden Grant = "Forbidden"
	GrantNarrow    Grant = "Narrow"
	GrantAny       Grant = "Any"
)

// Delegation says which settings an installation leaves to a cluster's owner.
type Delegation struct {
	NoProxy Grant
	Direct  bool // whether mode Direct may be chosen
}

// Installation is one CorporateProxy, read and parsed.
type Installation struct {
	Name        string
	Object      string       // what messages call it
	HTTP, HTTPS proxyurl.URL // one alone means that one alone
	Previous    Previous
	NoProxy     noproxy.List
	Form        Form // empty: the cluster's pinned form, or the default
	Delegation  Delegation
	Node        Node
	ConfigMap   bool // charts get a ConfigMap, too
	Probes      *Probes
}

// Cluster has the fields of a Cluster API Cluster that are about its network.
type Cluster struct {
	Namespace, Name        string
	ServiceDomain          string
	ServiceCIDRs, PodCIDRs []string
	EndpointHost           string
	EndpointPort           int32             // 0: not known
	Labels                 map[string]string // by which probes select clusters
	Infrastructure         Kind              // of spec.infrastructureRef
	ControlPlaneGroup      string            // of spec.controlPlaneRef
	ControlPlaneKind       string
}

// Kind is a kind of object, whatever its version.
type Kind struct{ Group, Kind string }

// Object names the cluster in messages.
func (c Cluster) Object() string { return "Cluster " + c.Namespace + "/" + c.Name }

// HasIPv6 reports whether the cluster is dual-stack, or has IPv6 alone.
func (c Cluster) HasIPv6() bool {
	return slices.ContainsFunc(slices.Concat(c.ServiceCIDRs, c.PodCIDRs), func(cidr string) bool { return strings.Contains(cidr, ":") })
}

// HasIPv4 reports whether the cluster has IPv4, as one that does not say its networks has.
func (c Cluster) HasIPv4() bool {
	own := slices.Concat(c.ServiceCIDRs, c.PodCIDRs)
	return len(own) == 0 || slices.ContainsFunc(own, func(cidr string) bool { return !strings.Contains(cidr, ":") })
}

// Override is a ProxyOverride.
type Override struct {
	Direct  bool
	NoProxy []noproxy.Element // whose sources lack the object
	Exclude []string
}

// Facts are the entries that the infrastructure provider adds: those in the table for every cluster of its kind, and
// those in this cluster's object. The form Portable writes both, Exact neither.
type Facts struct {
	Object  string            // has the facts, or will have them
	Missing []string          // required facts that are not known yet
	Refused string            // why facts that are known cannot be taken; empty: they can
	Known   []noproxy.Element // metadata services and domains
	Read    []noproxy.Element // networks, addresses and domains; the cluster's owner may have written them
}

// Input is everything one decision is made from.
type Input struct {
	Installation Installation
	Cluster      Cluster
	Facts        Facts
	Override     Override // the zero value where there is none
	PinnedForm   Form     // the form in the cluster's report; empty for a new cluster
	Fingerprints Fingerprints
	Revision     string // identity of what the cluster is to have; empty without spec.rollout
}

// Effective is the proxy configuration of one cluster: what the Secrets say.
type Effective struct {
	Namespace, Cluster string
	Mode               Mode
	Proxy              string // name of the CorporateProxy; empty when Unproxied
	HTTP, HTTPS        proxyurl.URL
	Previous           Previous
	Form               Form
	Entries            noproxy.List  // what is meant, merged in the documented order
	NoProxy            noproxy.Lists // how it is written
	Node               Node          // what machines get; the zero value when Unproxied
	ConfigMap          bool          // charts get a ConfigMap, too; false when Unproxied
	Probed             *Probed       // what its probe is told; nil: nothing, as where there is no proxy
}

// HasProxy reports whether one is set, for either protocol.
func (e Effective) HasProxy() bool { return !e.HTTP.IsZero() || !e.HTTPS.IsZero() }

// Previous are the URLs with the previous credentials, which relays try where the proxy refuses the current ones. Zero: there
// are none.
type Previous struct{ HTTP, HTTPS proxyurl.URL }

// IsZero reports whether there are none.
func (p Previous) IsZero() bool { return p.HTTP.IsZero() && p.HTTPS.IsZero() }

// Node has the settings of machines, beside the drop-ins of containerd and kubelet.
type Node struct {
	Units       []string // systemd units with a drop-in of their own, name.service
	Files       []NodeFile
	StaticPods  StaticPods
	Base64Twins bool
	Delivery    Delivery
	Relay       MachineRelay
	TrustedCA   []byte // PEM bundle; nil where there is none

	Certificates []cabundle.Certificate // those in TrustedCA, for whoever looks at their dates
}

// NodeFile is one kind of file, or set of files, for a machine.
type NodeFile string

// The files. What each holds is package render's.
const (
	FileEnvironmentFile NodeFile = "EnvironmentFile"
	FileEtcEnvironment  NodeFile = "EtcEnvironment"
	FileRKE2            NodeFile = "RKE2"
	FileK3s             NodeFile = "K3s"
	FileStaticPods      NodeFile = "StaticPods"
	FileFlatcar         NodeFile = "Flatcar"
	FileFedoraCoreOS    NodeFile = "FedoraCoreOS"
)

// NodeFiles are all there are. This list and the two below stand in the CRD, too; a manifest that only the command line has seen has
// not met it.
var NodeFiles = []NodeFile{
	FileEnvironmentFile, FileEtcEnvironment, FileRKE2, FileK3s, FileStaticPods, FileFlatcar, FileFedoraCoreOS,
}

// Delivery is how programs on a machine reach the proxy.
type Delivery string

// The ways of delivery: every file has the proxy's URL, or the URL of the relay on the machine.
const (
	DeliveryLiteral Delivery = "Literal"
	DeliveryRelay   Delivery = "Relay"
)

// Deliveries are all ways.
var Deliveries = []Delivery{DeliveryLiteral, DeliveryRelay}

// DefaultBinary is where a machine has fairlead-relay.
const DefaultBinary = "/opt/fairlead/bin/fairlead-relay"

// MachineRelay is the relay on a machine.
type MachineRelay struct {
	Image  string // from which a machine without the program fetches it; empty: it does not
	Binary string // path of the program
}

// StaticPods says how to treat the proxy variables that kubeadm copies from its own environment into the pods of the
// control plane.
type StaticPods string

// The three ways: none of them stays, NO_PROXY is ours, all are ours.
const (
	StaticPodsStrip  StaticPods = "Strip"
	StaticPodsExtend StaticPods = "Extend"
	StaticPodsSet    StaticPods = "Set"
)

// EveryStaticPods are all three.
var EveryStaticPods = []StaticPods{StaticPodsStrip, StaticPodsExtend, StaticPodsSet}
