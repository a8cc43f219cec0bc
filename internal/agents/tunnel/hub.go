package tunnel

import (
	"cmp"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/internal/core/lint"
)

// hub is where an agent dials.
type hub struct{ host, port string }

func (h hub) String() string {
	switch {
	case h.host == "":
		return ""
	case h.port == "":
		return h.host
	case strings.Contains(h.host, ":"):
		return "[" + h.host + "]:" + h.port
	}
	return h.host + ":" + h.port
}

// address returns the address of the host, or false if the host is a name.
func (h hub) address() (netip.Addr, bool) {
	address, err := netip.ParseAddr(h.host)
	return address, err == nil
}

func (h hub) loopback() bool {
	address, ok := h.address()
	return h.host == "localhost" || ok && address.IsLoopback()
}

// inside says whether the name is of a Service of this cluster.
func (h hub) inside() bool {
	_, ok := h.address()
	return !ok && h.host != "" && (strings.HasSuffix(h.host, ".svc") || strings.Contains(h.host, ".svc.") || !strings.Contains(h.host, "."))
}

// splitHub reads "host:port", or a host alone.
func splitHub(text, port string) hub {
	if at := strings.LastIndexByte(text, ':'); at >= 0 && (!strings.Contains(text[:at], ":") || strings.HasSuffix(text[:at], "]")) {
		text, port = text[:at], text[at+1:]
	}
	return hub{strings.Trim(text, "[]"), port}
}

// hubOfURL reads a URL, or "host:port".
func hubOfURL(text, scheme string) hub {
	if !strings.Contains(text, "://") {
		text = scheme + "://" + text
	}
	u, err := url.Parse(text)
	if err != nil {
		return hub{}
	}
	ports := map[string]string{"http": "80", "ws": "80", "https": "443", "wss": "443"}
	return hub{u.Hostname(), cmp.Or(u.Port(), ports[u.Scheme])}
}

func (j *judge) hubOfProxyAgent() (hub, string) {
	host, ok := j.line.flag("--proxy-server-host")
	if !ok {
		return hub{}, "its arguments, which lack --proxy-server-host"
	}
	return hub{host, j.line.flagOr("8091", "--proxy-server-port")}, "" // cmd/agent/app/options
}

// configuration returns a file, and where it is.
func (j *judge) configuration(at string) (f file, where string, ok bool) {
	f, ok = j.in.find(j.container, at)
	return f, strings.TrimSuffix(at+", of "+f.source, ", of "), ok
}

// hubOfKubeconfig looks into the kubeconfig of the hub, if its Secret is given.
func (j *judge) hubOfKubeconfig() (hub, string) {
	f, where, ok := j.configuration(j.line.flagOr("/spoke/hub-kubeconfig/kubeconfig", "--hub-kubeconfig", "--bootstrap-kubeconfig"))
	if !ok {
		return hub{}, "the kubeconfig " + where + ", whose proxy-url would come first"
	}
	var config struct {
		Clusters []struct {
			Cluster struct {
				Server string `json:"server"`
				Proxy  string `json:"proxy-url"`
			} `json:"cluster"`
		} `json:"clusters"`
	}
	if err := yaml.Unmarshal([]byte(f.content), &config); err != nil || len(config.Clusters) == 0 {
		return hub{}, "the kubeconfig of " + f.source + ", which cannot be read"
	}
	cluster := config.Clusters[0].Cluster
	if cluster.Proxy != "" { // client-go: before the environment
		j.configured = &setting{"proxy-url", "proxy-url of the kubeconfig in " + f.source, variable{value: cluster.Proxy, source: f.source}}
	}
	return hubOfURL(cluster.Server, "https"), ""
}

// hubOfOpenVPN reads the proxy's host and port, which are words of their own.
func (j *judge) hubOfOpenVPN() (hub, string) {
	if words := append(j.line.behind("--http-proxy"), ""); len(words) > 1 { // no port is ""
		proxy := hub{words[0], words[1]}
		j.configured = &setting{"--http-proxy", "argument --http-proxy", variable{value: "http://" + proxy.String()}}
	}
	return hub{}, "its configuration"
}

func (j *judge) hubOfVPNShoot() (hub, string) {
	if host := j.env.variables["ENDPOINT"].value; host != "" {
		return hub{host, cmp.Or(j.env.variables["OPENVPN_PORT"].value, "8132")}, "" // gardener/vpn2 pkg/config
	}
	return hub{}, "its variable ENDPOINT"
}

func (j *judge) hubOfRancher() (hub, string) {
	if server := j.env.variables["CATTLE_SERVER"].value; server != "" {
		return hubOfURL(server, "https"), ""
	}
	return hub{}, "its variable CATTLE_SERVER"
}

// hubOfTeleport looks into its configuration, if its ConfigMap is given.
func (j *judge) hubOfTeleport() (hub, string) {
	f, where, ok := j.configuration(j.line.flagOr("/etc/teleport/teleport.yaml", "--config", "-c"))
	if !ok {
		return hub{}, where
	}
	var config struct {
		Teleport struct {
			ProxyServer string   `json:"proxy_server"`
			AuthServer  string   `json:"auth_server"`
			AuthServers []string `json:"auth_servers"`
		} `json:"teleport"`
	}
	if err := yaml.Unmarshal([]byte(f.content), &config); err != nil {
		return hub{}, f.source + ", which cannot be read"
	}
	t := config.Teleport
	server := cmp.Or(slices.Concat([]string{t.ProxyServer, t.AuthServer}, t.AuthServers)...)
	if server == "" {
		return hub{}, f.source
	}
	return splitHub(server, "3080"), ""
}

// Flags of chisel client that have no value (jpillora/chisel main.go).
var chiselSwitches = []string{"tls-skip-verify", "pid", "v", "help"}

// client returns the arguments behind "client": flags, of which Go's parser sees none behind the first that is none.
func (l line) client() (flags line, rest []string) {
	words := l.words[slices.Index(l.words, "client")+1:]
	for i := 0; i < len(words); i++ {
		if !strings.HasPrefix(words[i], "-") {
			return line{words: words[:i]}, words[i:]
		}
		name := strings.TrimLeft(words[i], "-")
		if !strings.Contains(name, "=") && !slices.Contains(chiselSwitches, name) {
			i++
		}
	}
	return line{words: words}, nil
}

func (j *judge) hubOfChisel() (hub, string) {
	flags, rest := j.line.client()
	if value, ok := flags.flag("--proxy", "-proxy"); ok {
		left := j.env.expand(value) // a variable that is not known
		left.value = value
		j.configured = &setting{"--proxy", "argument --proxy", left}
	} else if (line{words: rest}).has("--proxy") {
		j.say(OtherVariable, lint.Error, "--proxy stands behind the server, where chisel does not read it", "put it right behind client")
	}
	if len(rest) == 0 {
		return hub{}, "its arguments, which name no server"
	}
	return hubOfURL(rest[0], "http"), ""
}

func (j *judge) beatOfChisel() int {
	flags, _ := j.line.client()
	if duration, ok := parseDuration(flags.flagOr("", "--keepalive", "-keepalive")); ok {
		return duration
	}
	return 25
}
