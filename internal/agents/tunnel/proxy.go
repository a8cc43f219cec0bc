package tunnel

import (
	"net/url"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/agents/password"
	"github.com/fairlead-io/fairlead/internal/core/lint"
	"github.com/fairlead-io/fairlead/internal/core/proxyurl"
)

// through is an agent that uses a proxy; whether that can work is another question.
func (j *judge) through(s setting) {
	j.verdict.Through, j.verdict.Setting = Proxy, s.where
	u, err := proxyurl.Parse(s.value)
	if err != nil {
		j.unusable(s, err)
		return
	}
	j.verdict.Proxy = u.WithoutCredentials().String()
	at := strings.TrimPrefix(j.verdict.Proxy, "http://")
	if relay, _ := j.in.Pod.relay(); relay.forwards(at) && j.program.name != "teleport" {
		never := func(Container, string) bool { return false } // it has no policy that opens anything
		j.byRelay(relay, s.where+", and "+RelayName+" --listen="+at, never)
		return
	}
	if u.Host() == "localhost." || (hub{host: u.Host()}).loopback() {
		j.loopbackProxy()
	}
	if u.Scheme() == "https" {
		j.overTLS()
	}
	j.network(u)
}

// unusable tells a URL without a port from others.
func (j *judge) unusable(s setting, err error) {
	u, parseErr := url.Parse(s.value)
	if parseErr != nil || u.Hostname() == "" || u.Port() != "" || u.Scheme != "http" && u.Scheme != "https" {
		j.fails(ProxyURL, s.where+": "+err.Error(), "http://user:password@host:port")
		return
	}
	j.verdict.Proxy = u.Scheme + "://" + u.Host
	why := s.where + " has no port"
	switch {
	case j.program.grpc && (j.verdict.Version == "" || !before(j.verdict.Version, "0.32.0")):
		j.fails(ProxyPort, why+": gRPC from 1.71 on takes 443, and before it fails", "write the port")
	case j.program.grpc:
		j.fails(ProxyPort, why+": gRPC before 1.71, as in this version, fails", "write the port")
	case j.program.way == byHTTPProxy:
		j.fails(ProxyPort, why+", and frpc knows no default", "write the port")
	default:
		j.say(ProxyPort, lint.Warning, why+": Go takes 80, or 443 for https, and other clients something else", "write the port")
	}
}

func (j *judge) fails(code Code, why, mend string) {
	j.verdict.Through = Fails
	j.say(code, lint.Error, why, mend)
}

// overTLS is a proxy that itself speaks TLS.
func (j *judge) overTLS() {
	const relay = "http://, or a relay: throughTLS of the family"
	switch {
	case j.program.grpc && j.env.variables["ROOT_CA_CERT"].value != "":
		j.fails(ProxyScheme, "gRPC does not speak TLS to a proxy; only the agent of stolostron's fork does, and ROOT_CA_CERT alone does not make it one", relay)
	case j.program.grpc:
		j.fails(ProxyScheme, "gRPC does not speak TLS to a proxy: it sends its CONNECT in plain text", relay)
	case j.program.way == byArgument:
		j.fails(ProxyScheme, j.program.name+" does not speak TLS to a proxy", "http://, or a relay")
	case j.program.way == byHTTPProxy && j.verdict.Version == "":
		j.say(Version, lint.Warning, "frpc speaks TLS to a proxy from 0.68.1 on, and the image does not say which version it is", "an image with a version")
	case j.program.way == byHTTPProxy && before(j.verdict.Version, "0.68.1"):
		j.fails(ProxyScheme, "frpc speaks TLS to a proxy from 0.68.1 on, and this is "+j.verdict.Version, relay)
	case j.program.way == byHTTPProxy:
	case j.program.name == "cattle-cluster-agent":
		j.say(ProxyScheme, lint.Warning, "only agents with remotedialer 0.5.0 or newer speak TLS to a proxy", "http://")
	default:
		j.say(ProxyScheme, lint.Warning, "Go verifies the proxy with the authorities of the hub: with a kubeconfig, the proxy's must be in its certificate-authority-data", "http://, or add it there")
	}
}

func (j *judge) loopbackProxy() {
	if j.program.name == "teleport" {
		j.fails(ProxyLoopback, "teleport refuses a proxy on the loopback interface", "a proxy with a name")
		return
	}
	j.say(ProxyLoopback, lint.Warning, "the proxy is on the loopback interface: of the pod, or with hostNetwork of the node", "")
}

// passwords finds those that stand in the pod itself.
func (j *judge) passwords() {
	const mend = "the variable from a Secret, and $(NAME) in arguments"
	for _, e := range j.container.Env {
		if strings.HasSuffix(strings.ToUpper(e.Name), "_PROXY") && password.InValue(e.Value) {
			j.say(Password, lint.Error, "variable "+e.Name+" has a password, for all to read who may read pods", mend)
		}
	}
	if slices.ContainsFunc(j.container.written().words, password.InArgument) {
		j.say(Password, lint.Error, "an argument has a password, for all to read who may read pods", mend)
	}
}
