// Package render writes an Effective configuration out as the contents of the
// two Secrets of a cluster. It is the only package that reveals credentials.
// Every sink has its own escaping function in its own file; templates never
// escape.
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

	TrustedCAKey = "trustedCA" // PEM bundle
	TwinSuffix   = ".base64"   // <key>.base64 holds the same in base64

	SecretLabel  = "fairlead.io/secret" // marks a Secret as ours; the value says which of the two
	ValuesRole   = "cluster-values"
	SystemdRole  = "systemd-proxy"
	AdoptKey     = "fairlead.io/adopt" // annotation, "true": Fairlead may take this existing Secret over
	ClusterLabel = "cluster.x-k8s.io/cluster-name"
	ManagedLabel = "app.kubernetes.io/managed-by"
	MoveLabel    = "clusterctl.cluster.x-k8s.io/move" // clusterctl move takes the object along
	Manager      = "fairlead"
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
