package tunnels_test

import (
	"context"
	"crypto/rand"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/machine"
	"github.com/fairlead-io/fairlead/e2e/policies"
	"github.com/fairlead-io/fairlead/e2e/process"
	"github.com/fairlead-io/fairlead/e2e/tier"
	"github.com/fairlead-io/fairlead/e2e/tools"
)

// tunnelName is the one that frps knows the tunnel by. The API server's certificate has it.
const tunnelName = "cluster-4711." + machine.HubName

// frp is a version, with what its configuration is called there.
type frp struct {
	client, server tools.Tool
	manifest       []byte // a ConfigMap and a Deployment
	program        string // of the Deployment: its command, or its image
	file           string // of the ConfigMap
	port           int    // of frps, for frpc
	config         string // of frps
	// transport adds another protocol to frpc's configuration.
	transport  func(config, protocol string) string
	transports map[string]string // protocol: what frpc says then
}

//go:embed testdata/frp-0.44.0.yaml
var manifest044 []byte

//go:embed testdata/frp-0.61.0.yaml
var manifest061 []byte

var frp044 = frp{
	client: tools.FRPC044, server: tools.FRPS044, manifest: manifest044, program: "/frpc", file: "frpc.ini", port: 443,
	config: "[common]\nbind_port = 443\nvhost_https_port = 443\nsubdomain_host = " + machine.HubName + "\n",
	transport: func(config, protocol string) string {
		return strings.Replace(config, "[common]", "[common]\nprotocol = "+protocol, 1)
	},
	transports: map[string]string{
		"quic":      "invalid protocol",
		"websocket": "bad status", // it is the proxy that it asks to upgrade, before the CONNECT
	},
}

var frp061 = frp{
	client: tools.FRPC061, server: tools.FRPS061, manifest: manifest061, program: "registry.example/frpc:v0.61.0", file: "frpc.toml", port: 7000,
	config: "bindPort = 7000\nvhostHTTPSPort = 443\nsubDomainHost = \"" + machine.HubName + "\"\n",
	transport: func(config, protocol string) string {
		return fmt.Sprintf("transport.protocol = %q\n", protocol) + config
	},
	transports: map[string]string{
		"quic":      "lookup " + machine.HubName, // it dials the hub itself
		"websocket": "start proxy success",
	},
}

// environment checks that frpc carries the API server by the one variable that it reads.
func (v frp) environment(t *testing.T, c *cluster, by engine) {
	s := v.site(t, c, plainURL(credential))
	s.checkOutside(t, c.excluded(t, s.namespace, podOf(t, v.manifest)))
	pod := c.as(t, by, s.namespace, v.manifest)
	s.checkVariable(t, pod)
	s.checkPassword(t, pod, "StatusCode [407]")
	s.checkRestart(t)
	if !tier.Short() {
		s.checkIdle(t)
	}
	s.checkAsked(t, granted(s.target), refused(s.target))
	if by == byKyverno && !tier.Short() {
		v.checkTransports(t, s)
	}
}

// checkVariable: frpc reads one variable, and gets it as a reference.
func (s *site) checkVariable(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	want := corev1.EnvVar{Name: "http_proxy", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
		LocalObjectReference: corev1.LocalObjectReference{Name: policies.Secret}, Key: "http_proxy",
	}}}
	got := slices.DeleteFunc(slices.Clone(pod.Spec.Containers[0].Env), func(e corev1.EnvVar) bool { return e.Name != want.Name })
	if diff := gocmp.Diff([]corev1.EnvVar{want}, got); diff != "" {
		t.Errorf("the variable of the pod (-want +got):\n%s", diff)
	}
}

// through has frpc leave by the relay, which its pod asks Kyverno for. Where the proxy itself speaks TLS, frpc of these versions
// does not, and the relay does it: that is the pod that fairlead mutate prints.
func (v frp) through(w way) func(*testing.T, *cluster, engine) {
	return func(t *testing.T, c *cluster, by engine) {
		if by == byMutate {
			s := v.site(t, c, secureURL(credential))
			s.run(t, v.behindTLS(t, s, "Environment"))
			s.awaitSaid(t, "ProxyType must be http or socks5 or ntlm, not [https]")
			s.checkLeaves(t, v.behindTLS(t, s, map[way]string{sidecar: "Sidecar", target: "Relay"}[w]))
			return
		}
		s := v.site(t, c, plainURL(credential))
		pod := podOf(t, v.manifest)
		pod.Labels = map[string]string{"fairlead.io/tunnel": string(w)}
		pod.Annotations = map[string]string{"fairlead.io/relay-targets": s.target}
		pod = c.stored(t, s.namespace, pod)
		for _, e := range pod.Spec.Containers[0].Env {
			if w == target && e.Name == "http_proxy" {
				t.Errorf("frpc is told of the proxy: %+v", e)
			}
		}
		s.checkLeaves(t, pod)
	}
}

// frp070 speaks TLS to the proxy, if it trusts it.
func frp070(t *testing.T, c *cluster, _ engine) {
	s := frp061.site(t, c, secureURL(credential))
	s.node.Programs[frp061.program] = controlplanetest.Tool(t, tools.FRPC070)
	pod := frp061.behindTLS(t, s, "Environment")
	s.run(t, pod)
	s.awaitSaid(t, "x509: certificate signed by unknown authority")
	container := &pod.Spec.Containers[0]
	container.Env = append(container.Env, corev1.EnvVar{Name: "SSL_CERT_FILE", Value: "/etc/fairlead/ca/ca.crt"})
	container.VolumeMounts = append(container.VolumeMounts, corev1.VolumeMount{Name: "ca", MountPath: "/etc/fairlead/ca"})
	bundle := &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: policies.TrustedCA}}
	pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: "ca", VolumeSource: corev1.VolumeSource{ConfigMap: bundle}})
	s.checkLeaves(t, pod)
}

// behindTLS returns the pod that fairlead mutate makes of the manifest where the proxy is https://.
func (v frp) behindTLS(t *testing.T, s *site, through string) *corev1.Pod {
	t.Helper()
	return s.printed(t, s.namespace, v.manifest, map[string]any{
		"proxy":     proxyValues(secureURL(credential)),
		"trustedCA": map[string]any{"bundle": string(s.authority.PEM())},
		"tunnels": map[string]any{"families": map[string]any{"frpc": map[string]any{
			"throughTLS": through, "targets": []any{s.target},
		}}},
	})
}

// checkTransports checks that transports other than TCP do not go through a proxy.
func (v frp) checkTransports(t *testing.T, s *site) {
	t.Helper()
	before := s.asked(t)
	v.runBy(t, s, "quic")
	s.awaitSaid(t, v.transports["quic"])
	if after := s.asked(t); after != before {
		t.Errorf("squid was asked %d times more", after-before)
	}
	v.runBy(t, s, "websocket")
	s.awaitSaid(t, v.transports["websocket"])
}

// runBy runs frpc with another transport.
func (v frp) runBy(t *testing.T, s *site, protocol string) {
	t.Helper()
	pod, config := podOf(t, v.manifest), first(t, v.manifest).Data[v.file]
	s.putConfig(t, s.namespace, protocol, map[string]string{v.file: v.transport(config, protocol)})
	pod.Spec.Volumes[0].ConfigMap.Name = protocol
	s.run(t, s.stored(t, s.namespace, pod))
}

// site starts frps in the hub. The real API server is the service in the cluster.
func (v frp) site(t *testing.T, c *cluster, url string) *site {
	t.Helper()
	s := c.site(t, c.namespace(t, url), v.port)
	s.node.Programs[v.program] = controlplanetest.Tool(t, v.client)
	s.serveAPI(t)
	config := first(t, v.manifest)
	s.putConfig(t, s.namespace, config.Name, config.Data)
	file := filepath.Join(machine.Dir, "frps")
	controlplanetest.Require(t, os.WriteFile(s.network.Path(file), []byte(v.config), 0o600))
	s.start(t, machine.Internet, strconv.Itoa(v.port), process.Spec{Name: "frps", Path: controlplanetest.Tool(t, v.server), Args: []string{"-c", file}})
	admin, err := rest.TLSConfigFor(s.cp.Admin())
	controlplanetest.Require(t, err)
	// Somebody in the hub, whose DNS leads the tunnel's name to frps, reads an object of the cluster that was written without a
	// tunnel.
	front := s.dial(machine.Internet, machine.HubAddress+":443")
	s.ask = func(ctx context.Context) error {
		nonce := rand.Text()
		s.putConfig(t, s.namespace, "note", map[string]string{"nonce": nonce})
		status, body, err := get(ctx, front, admin, "https://"+tunnelName+"/api/v1/namespaces/"+s.namespace+"/configmaps/note")
		if err == nil && !strings.Contains(body, nonce) {
			err = fmt.Errorf("the API server says %d: %s", status, body)
		}
		return err
	}
	return s
}
