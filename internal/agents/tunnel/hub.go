package tunnel

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
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

// address is what the host is, if it is no name.
func (h hub) address() (netip.Addr, bool) {
	address, err := netip.ParseAddr(h.host)
	return address, err == nil
}

func (h hub) loopback() bool {
	address, is := h.address()
	return h.host == "localhost" || is && address.IsLoopback()
}

// inside says whether the name is of a Service of this cluster.
func (h hub) inside() bool {
	_, is := h.address()
	return !is && h.host != "" && (strings.HasSuffix(h.host, ".svc") || strings.Contains(h.host, ".svc.") || !strings.Contains(h.host, "."))
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
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "ws": "80", "https": "443", "wss": "443"}[u.Scheme]
	}
	return hub{u.Hostname(), port}
}

func noHub(where string) func(*judge) (hub, string) {
	return func(*judge) (hub, string) { return hub{}, where }
}

func (j *judge) hubOfProxyAgent() (hub, string) {
	host, found := j.line.flag("--proxy-server-host")
	if !found {
		return hub{}, "its arguments, which lack --proxy-server-host"
	}
	port, found := j.line.flag("--proxy-server-port")
	if !found {
		port = "8091" // cmd/agent/app/options
	}
	return hub{host, port}, ""
}

// hubOfKubeconfig looks into the kubeconfig of the hub, if its Secret is given.
func (j *judge) hubOfKubeconfig() (hub, string) {
	at, found := j.line.flag("--hub-kubeconfig", "--bootstrap-kubeconfig")
	if !found {
		at = "/spoke/hub-kubeconfig/kubeconfig"
	}
	f, found := j.in.Pod.find(j.container, at, j.in.Objects)
	if !found {
		if f.source != "" {
			at += ", of " + f.source
		}
		return hub{}, "the kubeconfig " + at + ", whose proxy-url would come first"
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
		j.configured = &setting{value: variable{value: cluster.Proxy, source: f.source}, name: "proxy-url", where: "proxy-url of the kubeconfig in " + f.source}
	}
	return hubOfURL(cluster.Server, "https"), ""
}

func (j *judge) hubOfVPNShoot() (hub, string) {
	host, port := j.env.value("ENDPOINT"), j.env.value("OPENVPN_PORT")
	if port == "" {
		port = "8132" // gardener/vpn2 pkg/config
	}
	if host == "" {
		return hub{}, "its variable ENDPOINT"
	}
	return hub{host, port}, ""
}

func (j *judge) hubOfRancher() (hub, string) {
	server := j.env.value("CATTLE_SERVER")
	if server == "" {
		return hub{}, "its variable CATTLE_SERVER"
	}
	return hubOfURL(server, "https"), ""
}

// hubOfTeleport looks into its configuration, if its ConfigMap is given.
func (j *judge) hubOfTeleport() (hub, string) {
	at, found := j.line.flag("--config", "-c")
	if !found {
		at = "/etc/teleport/teleport.yaml"
	}
	f, found := j.in.Pod.find(j.container, at, j.in.Objects)
	if !found {
		return hub{}, strings.TrimSuffix(at+", of "+f.source, ", of ")
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
	for _, server := range slices.Concat([]string{t.ProxyServer, t.AuthServer}, t.AuthServers) {
		if server != "" {
			return splitHub(server, "3080"), ""
		}
	}
	return hub{}, f.source
}
