package resolve

import "github.com/fairlead-io/fairlead/internal/core/cabundle"

// Node is what machines get beside the drop-ins of containerd and kubelet.
type Node struct {
	Units       []string // systemd units with a drop-in of their own, name.service
	Files       []NodeFile
	StaticPods  StaticPods
	Base64Twins bool
	TrustedCA   []byte // PEM bundle; nil where there is none

	Certificates []cabundle.Certificate // those in TrustedCA, for whoever looks at their dates
}

// NodeFile is one kind of file, or set of files, for a machine.
type NodeFile string

// The files. What each holds is package render's.
const (
	FileEnvironmentFile NodeFile = "EnvironmentFile"
	FileEtcEnvironment  NodeFile = "EtcEnvironment"
	FileRKE2            NodeFile = "RKE2"
	FileK3s             NodeFile = "K3s"
	FileStaticPods      NodeFile = "StaticPods"
	FileFlatcar         NodeFile = "Flatcar"
	FileFedoraCoreOS    NodeFile = "FedoraCoreOS"
)

// StaticPods is what becomes of the proxy variables that kubeadm copies from
// its own environment into the pods of the control plane.
type StaticPods string

// The three ways: none of them stays, NO_PROXY is ours, all are ours.
const (
	StaticPodsStrip  StaticPods = "Strip"
	StaticPodsExtend StaticPods = "Extend"
	StaticPodsSet    StaticPods = "Set"
)
