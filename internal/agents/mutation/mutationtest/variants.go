package mutationtest

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Variant is the chart's policies for some families, with values over Values.
type Variant struct {
	Name     string
	Text     string // whose table it is for
	Families []string
	Values   map[string]any
	// PodsAlone says that pods on the network of their node get nothing.
	PodsAlone bool
}

// The variants for which the tables hold.
var (
	Led          = Variant{Name: "led", Text: Environment, Families: []string{Konnectivity, ClusterProxy, Frpc, "teleport", ByLabel}}
	LedLiterally = Variant{Name: "led-literally", Text: Environment, Families: []string{Konnectivity}, Values: map[string]any{"carry": "Literal"}}
	// Machines have a relay here, for the pods on the machine's network.
	LedByRelay = Variant{Name: "led-by-relay", Text: Environment, Families: []string{Konnectivity, Frpc}, Values: map[string]any{
		"carry": "Relay", "relay": map[string]any{"onMachines": true}, "proxy": OverTLS["proxy"],
	}}
	// LedByRelayOfPods is the same without that relay: the table holds for pods with a network of their own.
	LedByRelayOfPods = Variant{Name: "led-by-relay-of-pods", Text: Environment, Families: []string{Konnectivity}, PodsAlone: true, Values: map[string]any{
		"carry": "Relay", "proxy": OverTLS["proxy"],
	}}
	Relayed = Variant{Name: "relayed", Text: Relay, Families: []string{Konnectivity, ClusterProxy, Frpc}, Values: ToTargets}
	Beside  = Variant{Name: "sidecar", Text: Sidecar, Families: []string{Konnectivity, ClusterProxy, Frpc, "chisel"}, Values: OverTLS}
)

// Variants returns all of them.
func Variants() []Variant { return []Variant{Led, LedLiterally, LedByRelay, Relayed, Beside} }

// Values returns the values of the published example, as <cluster>-cluster-values has them.
func Values() map[string]any {
	const url = "http://myProxyUser:mySuperSecretPassword@192.168.52.220:3128"
	return map[string]any{"cluster": map[string]any{"proxy": map[string]any{
		"http": url, "https": url, "noProxy": "10.96.0.0/12,10.244.0.0/16,127.0.0.1,localhost,.svc,cluster.local",
	}}}
}

// RelayPullSecret is for the image of the relay.
const RelayPullSecret = "relay-registry"

// The values of users whose proxy itself speaks TLS: with OverTLS the families go through a sidecar, with ToTargets through the
// relay.
var (
	OverTLS = behindTLS(map[string]any{
		Konnectivity: map[string]any{"throughTLS": "Sidecar"},
		ClusterProxy: map[string]any{"throughTLS": "Sidecar"},
		Frpc:         map[string]any{"throughTLS": "Sidecar"},
	})
	ToTargets = behindTLS(map[string]any{
		Konnectivity: map[string]any{"throughTLS": "Relay"},
		ClusterProxy: map[string]any{"throughTLS": "Relay"},
		Frpc:         map[string]any{"throughTLS": "Relay", "targets": []string{"frps.example:7000"}},
	})
)

func behindTLS(families map[string]any) map[string]any {
	for _, name := range []string{"sidecar", "chisel"} {
		families[name] = map[string]any{"through": "Sidecar"}
	}
	return map[string]any{
		"proxy": map[string]any{"https": "https://myProxyUser:mySuperSecretPassword@proxy.example:3129"},
		"tunnels": map[string]any{
			"families": families,
			"relay":    map[string]any{"imagePullSecrets": []map[string]any{{"name": RelayPullSecret}}},
		},
	}
}

// Entries returns what a container without a wish of its own gets with a carry, in a pod of some place.
func Entries(carry any, namespace string, onItsNode bool) []corev1.EnvVar {
	if carry == nil {
		return references()
	}
	proxy, _ := Values()["cluster"].(map[string]any)["proxy"].(map[string]any)
	var entries []corev1.EnvVar
	for _, name := range []string{"HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"} {
		setting, isURL := "noProxy", false
		if strings.ToUpper(name) != "NO_PROXY" {
			setting, isURL = strings.ToLower(strings.TrimSuffix(strings.ToUpper(name), "_PROXY")), true
		}
		value, _ := proxy[setting].(string)
		switch {
		case carry == "Literal" || !isURL:
		case onItsNode:
			value = "http://" + namespace + "@127.0.0.1:3128"
		default:
			value = "http://" + namespace + "@fairlead-relay.fairlead-system.svc:3128"
		}
		entries = append(entries, corev1.EnvVar{Name: name, Value: value})
	}
	return entries
}

// references are to the Secret.
func references() []corev1.EnvVar {
	var entries []corev1.EnvVar
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy"} {
		entries = append(entries, corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{
			SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "fairlead-proxy"}, Key: name},
		}})
	}
	return entries
}
