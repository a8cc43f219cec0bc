package tunnel

import (
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead-io/fairlead/internal/core/proxyenv"
	"github.com/fairlead-io/fairlead/internal/core/selection"
)

// way is how a program can be led to a proxy.
type way int

const (
	byEnvironment way = iota // the variables, by Go's rules
	byHTTPProxy              // http_proxy in lower case, or its configuration
	byArgument               // an argument alone
	byNothing                // no HTTP proxy at all
)

// program is a kind of agent.
type program struct {
	name string
	// is recognizes it by what it runs.
	is  func(line, Container) bool
	way way
	// grpc speaks to a proxy without TLS, takes HTTPS_PROXY alone, and knows no default port of it.
	grpc bool
	// where it dials; not found, with words for people, if that cannot be seen.
	hub func(*judge) (hub, string)
	// beat is after how many seconds of silence it says something, 0 if that is not known.
	beat func(*judge) int
	// image is the base name of images whose tag is the version of the agent.
	image string
	// argument is the argument of byArgument.
	argument string
	// cannot says why, for byNothing.
	cannot, instead string
}

// reads returns the variables that tell a program its proxy, if any do.
func (p *program) reads() []string {
	if p.way == byHTTPProxy {
		return []string{proxyenv.LowerHTTP}
	}
	return []string{proxyenv.HTTPS, proxyenv.LowerHTTPS}
}

func runs(names ...string) func(line, Container) bool {
	return func(l line, c Container) bool {
		if program := l.program(); program != "" && !slices.Contains(subcommands, program) {
			return slices.Contains(names, program)
		}
		name, _ := c.ImageTag()
		return slices.Contains(names, name)
	}
}

// subcommands may be the first word where the image names the program.
var subcommands = []string{"client", "tunnel", "start", "http", "https", "tcp", "udp", "stcp", "xtcp", "sudp", "tcpmux", "agent"}

func seconds(n int) func(*judge) int { return func(*judge) int { return n } }

const proxyAgent = "apiserver-network-proxy agent"

// The programs that are known. The first that recognizes a container is it.
var programs = []*program{
	{
		// kubernetes-sigs/apiserver-network-proxy cmd/agent: konnectivity-agent, and OCM's proxy-agent.
		name: proxyAgent, grpc: true, hub: (*judge).hubOfProxyAgent, beat: (*judge).beatOfProxyAgent,
		is:    func(l line, c Container) bool { return l.has("--proxy-server-host") || runs("proxy-agent")(l, c) },
		image: "proxy-agent",
	},
	{
		// open-cluster-management.io/cluster-proxy cmd/addon-agent and cmd/cluster-proxy: client-go to the hub.
		name: "cluster-proxy addon-agent", hub: (*judge).hubOfKubeconfig,
		is: func(l line, _ Container) bool {
			return l.program() == "agent" && l.has("--hub-kubeconfig") && l.has("--proxy-server-namespace")
		},
	},
	{
		name: "cluster-proxy service-proxy", hub: (*judge).hubOfKubeconfig,
		is: func(l line, _ Container) bool {
			return slices.Contains(l.words, "service-proxy") && l.has("--hub-kubeconfig")
		},
	},
	{
		// fatedier/frp: HTTP_PROXY, HTTPS_PROXY and NO_PROXY are not read (pkg/config: os.Getenv("http_proxy")).
		name: "frpc", way: byHTTPProxy, hub: (*judge).hubOfFRPC, is: runs("frpc"), image: "frpc",
		beat: seconds(30), // pkg/config: tcpMuxKeepaliveInterval
	},
	{
		// jpillora/chisel client: a dialer of its own, without the environment.
		name: "chisel", way: byArgument, argument: "--proxy", hub: (*judge).hubOfChisel, beat: (*judge).beatOfChisel, image: "chisel",
		is: func(l line, c Container) bool { return runs("chisel")(l, c) && slices.Contains(l.words, "client") },
	},
	{
		name: "cloudflared", way: byNothing, is: runs("cloudflared"),
		hub:     func(*judge) (hub, string) { return hub{host: "region1.v2.argotunnel.com", port: "7844"}, "" },
		cannot:  "it reads no proxy setting, and QUIC is UDP, which no HTTP proxy carries (cloudflare/cloudflared issues 350, 1025)",
		instead: "--protocol http2 and a firewall that lets it out, or another tunnel",
	},
	{
		// gardener/vpn2: the one http-proxy that OpenVPN can have leads to the seed's gateway.
		name: "vpn-shoot", way: byNothing, hub: (*judge).hubOfVPNShoot,
		is:      func(_ line, c Container) bool { return hasVariable(c, "REVERSED_VPN_HEADER") },
		cannot:  "the one HTTP proxy that OpenVPN can have is the seed's gateway",
		instead: "a relay in front of it, put in where the manifest is made",
	},
	{
		name: "openvpn", way: byArgument, argument: "--http-proxy", hub: (*judge).hubOfOpenVPN, is: runs("openvpn"),
	},
	{
		name: "teleport", hub: (*judge).hubOfTeleport, is: runs("teleport", "teleport-distroless", "teleport-ent", "teleport-ent-distroless"),
	},
	{
		// rancher/remotedialer: http.ProxyFromEnvironment; a ping every 5 s.
		name: "cattle-cluster-agent", hub: (*judge).hubOfRancher, beat: seconds(5),
		is: func(_ line, c Container) bool { return hasVariable(c, "CATTLE_SERVER") },
	},
	{
		// open-cluster-management-io/ocm pkg/operator/…/klusterlet.
		name: "klusterlet", hub: (*judge).hubOfKubeconfig,
		is: func(l line, c Container) bool {
			return runs("registration-operator", "registration", "work")(l, c) &&
				(slices.Contains(l.words, "agent") || l.has("--spoke-cluster-name"))
		},
	},
}

// recognize returns what a container is, if it is an agent: by what it runs, or because a family says so.
func recognize(c Container, l line, f *Family) *program {
	for _, p := range programs {
		if p.is(l, c) {
			return p
		}
	}
	if f == nil {
		return nil
	}
	if slices.Equal(f.Reads, []string{proxyenv.LowerHTTP}) {
		return programs[slices.IndexFunc(programs, func(p *program) bool { return p.name == "frpc" })]
	}
	return &program{name: f.Name, hub: func(*judge) (hub, string) { return hub{}, "its configuration" }}
}

func hasVariable(c Container, name string) bool {
	return slices.ContainsFunc(c.Env, func(e EnvVar) bool { return e.Name == name })
}

// Family is a row of tunnels.families; values.yaml of charts/fairlead-policies says what each field means.
type Family struct {
	Name             string              `json:"name"`
	Labels           map[string][]string `json:"labels"`
	Containers       []string            `json:"containers"` // all if there are none
	Through          string              `json:"through"`    // None: it is for nobody
	ThroughTLS       string              `json:"throughTLS"` // instead, where the proxy speaks TLS; empty: the same
	Reads            []string            `json:"reads"`
	ReplacesBareURLs bool                `json:"replacesBareURLs"`
	Flag             []string            `json:"flag"` // instead of Reads, and the word behind which it stands
	Arguments        [][]string          `json:"arguments"`
	Targets          []string            `json:"targets"` // of the relay, beside what command lines name
}

// selects says whether the family's policy is for such a container.
func (f Family) selects(pod Pod, container string) bool {
	return selection.Lacking(f.Labels, pod.Metadata.Labels) == "" && f.Through != "None" && (len(f.Containers) == 0 || slices.Contains(f.Containers, container))
}

var versionTag = regexp.MustCompile(`^v?(\d+)\.(\d+)(?:\.(\d+))?(?:[-+.].*)?$`)

// ImageTag returns the last part of the path of the container's image, and its tag.
func (c Container) ImageTag() (name, tag string) {
	image, _, _ := strings.Cut(c.Image, "@")
	name, tag, _ = strings.Cut(path.Base(image), ":")
	return name, tag
}

// version returns the version of the agent, if the tag of its image is one.
func (j *judge) version() string {
	name, tag := j.container.ImageTag()
	if name != j.program.image || !versionTag.MatchString(tag) {
		return ""
	}
	return tag
}

// before compares versions.
func before(version, limit string) bool {
	numbers := func(text string) (all [3]int) {
		for i, part := range versionTag.FindStringSubmatch(text)[1:] {
			all[i], _ = strconv.Atoi(part)
		}
		return all
	}
	a, b := numbers(version), numbers(limit)
	return slices.Compare(a[:], b[:]) < 0
}

// AsksOneServer tells whether a container is the agent of a tunnel that asks nobody but its server through a proxy, so that it
// needs no NO_PROXY list: what comes by the tunnel it dials itself. Other agents also ask the API server.
func AsksOneServer(c Container) bool {
	p := recognize(c, commandLine(c, readEnvironment(c, Objects{})), nil)
	return p != nil && (p.grpc || p.way != byEnvironment)
}
