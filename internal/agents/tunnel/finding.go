// Package tunnel judges whether the agent of a reverse tunnel will leave through the corporate proxy: which containers
// of a pod are agents, which setting of theirs decides, and what is wrong with it. It is told everything, and reads no
// cluster, file or clock. What agents do is from their sources, named where it is used.
//
// The package is pure.
package tunnel

import "github.com/fairlead-io/fairlead/internal/core/lint"

// Code names a kind of finding. Codes are stable.
type Code = lint.Code

// The codes.
const (
	// The pod as it is written.
	NoAgent      Code = "NoAgent"      // no container is an agent that we know
	NotText      Code = "NotText"      // a list or a text is something else
	Shell        Code = "Shell"        // a shell starts the agent: what is read of its command line is a guess
	NotGiven     Code = "NotGiven"     // the value is in an object that nobody has shown
	MissingKey   Code = "MissingKey"   // the object that is referred to lacks the key
	Password     Code = "Password"     // a password, for all to read who may read the object
	LogsPassword Code = "LogsPassword" // the agent itself writes it into its log
	NoPolicy     Code = "NoPolicy"     // no policy is for this agent
	Excluded     Code = "Excluded"     // the policies leave the pod alone
	// The way.
	NoProxy       Code = "NoProxy"       // nothing tells it a proxy
	EmptyValue    Code = "EmptyValue"    // what tells it is empty
	OtherVariable Code = "OtherVariable" // there are variables, but not the one that it reads
	ProxyURL      Code = "ProxyURL"      // cannot be used as a proxy's URL
	ProxyPort     Code = "ProxyPort"     // has no port
	ProxyScheme   Code = "ProxyScheme"   // the agent does not speak TLS to a proxy
	ProxyLoopback Code = "ProxyLoopback" // the proxy is on the loopback interface
	// What the proxy itself has answered.
	ProxyAuthentication Code = "ProxyAuthentication" // it knows no Basic
	ProxyInspects       Code = "ProxyInspects"       // TLS is looked into
	ProxyAnswer         Code = "ProxyAnswer"         // there is no tunnel, or no TLS in it
	NoSetting           Code = "NoSetting"           // no setting can lead it through an HTTP proxy
	NoRelay             Code = "NoRelay"             // it takes a relay, and none can be added
	Version             Code = "Version"             // nobody can tell which version it is
	// The hub.
	HubUnknown    Code = "HubUnknown"    // nobody can tell where it dials
	HubListed     Code = "HubListed"     // NO_PROXY covers it
	HubInside     Code = "HubInside"     // is in this cluster, or in the pod
	HubAddress    Code = "HubAddress"    // is an address, not a name
	HubPort       Code = "HubPort"       // a port to which proxies refuse to connect
	HubAliased    Code = "HubAliased"    // hostAliases name it, and no relay listens
	RelayTarget   Code = "RelayTarget"   // the relay has other targets
	Keepalive     Code = "Keepalive"     // an idle tunnel is cut, or refused
	NetworkPolicy Code = "NetworkPolicy" // does not let it reach the proxy
	// Open Cluster Management.
	ProxyAgentAlone Code = "ProxyAgentAlone" // AddOnDeploymentConfig reaches one container of three
	PortForward     Code = "PortForward"     // the tunnel runs inside the connection of another container
)

// Finding is one thing that somebody should know. It has no entries and no clients.
type Finding = lint.Finding
