package provider

// Row has the facts about one kind of infrastructure object.
type Row struct {
	Source string `json:"-"`     // where the row is from: the table's version, or the name given to Parse
	Group  string `json:"group"` // of the object that a Cluster's spec.infrastructureRef names
	Kind   string `json:"kind"`  // of that object
	// Metadata are names, addresses or CIDRs at which a machine reaches what its provider tells or lends
	// to it: metadata, credentials, the host's agent. Never a provider's API: that goes through the proxy.
	Metadata []string `json:"metadata,omitempty"`
	// Domains are names that only resolve inside the provider's network, as NO_PROXY entries.
	Domains []string `json:"domains,omitempty"`
	Facts   []Fact   `json:"facts,omitempty"` // what to read from the object
}

// Fact is one thing to read from an infrastructure object.
type Fact struct {
	Name    string   `json:"name"`              // unique in the row: it is how reports and explanations call the fact
	Paths   []string `json:"paths"`             // alternatives, since API versions differ: the first that yields an entry is the fact
	Type    Type     `json:"type,omitempty"`    // of the entries; CIDR when empty
	Network *Network `json:"network,omitempty"` // set where the paths name objects that hold a CIDR in two parts
	Entry   string   `json:"entry,omitempty"`   // the NO_PROXY entry to make of a domain's value, which it names as {value}
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
