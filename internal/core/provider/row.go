package provider

// Row is what the table knows of one kind of infrastructure object.
type Row struct {
	// Source says where the row is from: the table's version, or the name given to Parse.
	Source string `json:"-"`
	// Group and Kind are of the object that a Cluster's spec.infrastructureRef names.
	Group string `json:"group"`
	Kind  string `json:"kind"`
	// Metadata are names, addresses or CIDRs at which a machine reaches what its provider tells or lends
	// to it: metadata, credentials, the host's agent. Never a provider's API: that goes through the proxy.
	Metadata []string `json:"metadata,omitempty"`
	// Domains are names that only resolve inside the provider's network, as NO_PROXY entries.
	Domains []string `json:"domains,omitempty"`
	// Facts are what to read from the object.
	Facts []Fact `json:"facts,omitempty"`
}

// Fact is one thing to read from an infrastructure object.
type Fact struct {
	// Name is unique in the row: it is how reports and explanations call the fact.
	Name string `json:"name"`
	// Paths are alternatives, since API versions differ: the first that yields an entry is the fact.
	// See Path for the grammar.
	Paths []string `json:"paths"`
	// Type of the entries; CIDR when empty.
	Type Type `json:"type,omitempty"`
	// Network is set where the paths name objects that hold a CIDR in two parts.
	Network *Network `json:"network,omitempty"`
	// Entry is the NO_PROXY entry to make of a domain's value, which it names as {value}.
	Entry string `json:"entry,omitempty"`
	// Required says that without this fact the list would be half-known, so that nothing may be built
	// from it. Only for what every object of the kind has before its control-plane endpoint is known:
	// a cluster whose provider never writes the field would wait forever.
	Required bool `json:"required,omitempty"`
}

// Network names the two fields of an object that together are a CIDR.
type Network struct {
	Address string `json:"address"`
	Prefix  string `json:"prefix"`
}

// Type says what the values of a fact are.
type Type string

// The types of values.
const (
	CIDR    Type = "cidr"
	Address Type = "address"
	Domain  Type = "domain"
)

func (r Row) key() groupKind { return groupKind{r.Group, r.Kind} }

type groupKind struct{ group, kind string }

func (k groupKind) String() string { return k.kind + "." + k.group }
