// Package render writes an Effective configuration out as the contents of the
// two Secrets of a cluster. It is the only package that reveals credentials.
// Every sink has its own escaping function beside it; templates never escape.
// The error for what a sink cannot carry is a *resolve.Problem that names the
// file. A file of variables or options is empty where none is set.
//
// The package is pure: it imports neither a Kubernetes library nor anything
// that reads a clock, a file or the network.
package render

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// The contract with everything that reads the Secrets. What is released here
// is never renamed.
const (
	ValuesSuffix  = "-cluster-values" // Secret <cluster>-cluster-values: Helm values
	SystemdSuffix = "-systemd-proxy"  // Secret <cluster>-systemd-proxy: systemd drop-ins

	ValuesKey     = "values"          // the only key of the values Secret; App platforms refuse more
	ContainerdKey = "containerdProxy" // drop-in of containerd.service
	KubeletKey    = "kubeletProxy"    // drop-in of kubelet.service

	EnvironmentFileKey        = "environmentFile"       // /etc/fairlead/proxy.env
	EnvironmentFileDropInKey  = "environmentFileDropIn" // drop-in with which any unit reads it
	EtcEnvironmentKey         = "etcEnvironment"        // appended to /etc/environment
	RKE2Key                   = "rke2Environment"       // /etc/default/rke2-server, /etc/default/rke2-agent
	K3sKey                    = "k3sEnvironment"        // /etc/default/k3s, /etc/default/k3s-agent
	APIServerPatchKey         = "kubeAPIServerPatch"    // patches for kubeadm
	ControllerManagerPatchKey = "kubeControllerManagerPatch"
	SchedulerPatchKey         = "kubeSchedulerPatch"

	FlatcarButaneKey   = "flatcarButane" // Butane and Ignition configs of a machine
	FlatcarIgnitionKey = "flatcarIgnition"
	FCOSButaneKey      = "fcosButane"
	FCOSIgnitionKey    = "fcosIgnition"

	// With delivery Relay.
	RelaySettingsKey       = "relaySettings"       // /etc/fairlead/relay/settings, the only one with the password
	RelayPolicyKey         = "relayPolicy"         // /etc/fairlead/relay/policy.yaml
	RelaySocketKey         = "relaySocket"         // fairlead-relay.socket
	RelayServiceKey        = "relayService"        // fairlead-relay.service
	RelayUpdatePathKey     = "relayUpdatePath"     // fairlead-relay-update.path
	RelayUpdateServiceKey  = "relayUpdateService"  // fairlead-relay-update.service
	RelayInstallServiceKey = "relayInstallService" // fairlead-relay-install.service, where the relay is fetched

	TrustedCAKey = "trustedCA" // PEM bundle
	TwinSuffix   = ".base64"   // <key>.base64 holds the same in base64

	SecretLabel    = "fairlead.io/secret"    // marks a Secret as ours; the value says which of the two
	ConfigMapLabel = "fairlead.io/configmap" // marks a ConfigMap as ours
	ValuesRole     = "cluster-values"
	SystemdRole    = "systemd-proxy"
	ConfigMapRole  = "cluster-values-configmap" // in reports and metrics, where it stands beside those of Secrets

	AdoptKey     = "fairlead.io/adopt" // annotation, "true": Fairlead may take this existing Secret over
	ClusterLabel = "cluster.x-k8s.io/cluster-name"
	ManagedLabel = "app.kubernetes.io/managed-by"
	MoveLabel    = "clusterctl.cluster.x-k8s.io/move" // clusterctl move takes the object along
	Manager      = "fairlead"

	// FluxWatchLabel lets Flux reconcile at once what takes values from the object, instead of at its next interval: what
	// its controllers watch by default (fluxcd/pkg, apis/meta/labels.go and runtime/controller/watch.go). Without Flux it
	// means nothing, so it is always there: a label cannot be asked for on what is written anew.
	FluxWatchLabel   = "reconcile.fluxcd.io/watch"
	FluxWatchEnabled = "Enabled"
)

// Secret is the content of one Secret. It prints without its data.
type Secret struct {
	Namespace, Name string
	Labels          map[string]string
	Data            map[string][]byte
}

// Role returns which of the two Secrets this is.
func (s Secret) Role() string { return s.Labels[SecretLabel] }

// String names the Secret and its keys.
func (s Secret) String() string {
	keys := slices.Sorted(maps.Keys(s.Data))
	return fmt.Sprintf("Secret %s/%s (%s)", s.Namespace, s.Name, strings.Join(keys, ", "))
}

// Format writes String for every verb, so that %+v cannot show the data.
func (s Secret) Format(state fmt.State, _ rune) { _, _ = state.Write([]byte(s.String())) }

// MarshalText returns String, so that a log in JSON cannot show the data.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
