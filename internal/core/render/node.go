package render

import (
	"encoding/base64"
	"maps"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/core/render/ignition"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/noproxy"
)

// The units that have a drop-in whatever an installation asks for. Both are Go
// programs; of any other unit we do not know.
const (
	Containerd = "containerd.service"
	Kubelet    = "kubelet.service"
)

// UnitKey returns the key of a unit's drop-in: containerd.service has
// containerdProxy.
func UnitKey(unit string) string { return strings.TrimSuffix(unit, ".service") + "Proxy" }

// UnitAudience says which list a unit's program gets.
func UnitAudience(unit string) noproxy.Audience {
	if unit == Containerd || unit == Kubelet {
		return noproxy.AudienceGo
	}
	return noproxy.AudienceAny
}

// nodeFiles are the keys of each kind of file, and what writes them.
var nodeFiles = map[resolve.NodeFile]map[string]func(resolve.Effective) ([]byte, error){
	resolve.FileEnvironmentFile: {EnvironmentFileKey: EnvironmentFile, EnvironmentFileDropInKey: EnvironmentFileDropIn},
	resolve.FileEtcEnvironment:  {EtcEnvironmentKey: EtcEnvironment},
	resolve.FileRKE2:            {RKE2Key: RKE2Environment},
	resolve.FileK3s:             {K3sKey: K3sEnvironment},
	resolve.FileStaticPods: {
		APIServerPatchKey:         staticPodPatchOf("kube-apiserver"),
		ControllerManagerPatchKey: staticPodPatchOf("kube-controller-manager"),
		SchedulerPatchKey:         staticPodPatchOf("kube-scheduler"),
	},
	resolve.FileFlatcar:      immutable(ignition.Flatcar, FlatcarButaneKey, FlatcarIgnitionKey),
	resolve.FileFedoraCoreOS: immutable(ignition.FedoraCoreOS, FCOSButaneKey, FCOSIgnitionKey),
}

// everyKey has every key, for machines of a cluster that no CorporateProxy selects: their template may name any key,
// and they wait for each. A template names no whole config of Ignition. The relay is never asked there, nor its image
// fetched.
var everyKey = resolve.Node{
	Files:     []resolve.NodeFile{resolve.FileEnvironmentFile, resolve.FileEtcEnvironment, resolve.FileRKE2, resolve.FileK3s, resolve.FileStaticPods},
	TrustedCA: []byte{}, Base64Twins: true, Delivery: resolve.DeliveryRelay,
	Relay: resolve.MachineRelay{Binary: resolve.DefaultBinary, Image: "no-corporateproxy.invalid/fairlead-relay"},
}

// relayData returns the keys for a machine's relay, if it has one.
func relayData(e resolve.Effective) (data map[string][]byte, err error) {
	data = map[string][]byte{}
	for _, file := range relayFilesOf(e) {
		if data[file.key], err = file.content(e); err != nil {
			return nil, err
		}
	}
	if len(data) > 0 {
		data[RelaySettingsKey], err = RelaySettings(e)
	}
	return data, err
}

// nodeData returns every key of the Secret <cluster>-systemd-proxy.
func nodeData(e resolve.Effective) (map[string][]byte, error) {
	if e.Mode == resolve.ModeUnproxied {
		e.Node = everyKey
	}
	data, err := relayData(e)
	if err != nil {
		return nil, err
	}
	for _, unit := range append([]string{Containerd, Kubelet}, e.Node.Units...) {
		content, err := DropIn(e, UnitAudience(unit))
		if err != nil {
			return nil, err
		}
		data[UnitKey(unit)] = content
	}
	for _, file := range e.Node.Files {
		for _, key := range slices.Sorted(maps.Keys(nodeFiles[file])) { // so that always the same refusal is reported
			content, err := nodeFiles[file][key](e)
			if err != nil {
				return nil, err
			}
			data[key] = content
		}
	}
	if e.Node.TrustedCA != nil {
		data[TrustedCAKey] = e.Node.TrustedCA
	}
	for _, key := range slices.Sorted(maps.Keys(data)) {
		if err := checkUserData(string(data[key])); err != nil {
			return nil, problemAt(e, key, err)
		}
	}
	if e.Node.Base64Twins {
		for key, content := range maps.Clone(data) {
			data[key+TwinSuffix] = []byte(base64.StdEncoding.EncodeToString(content))
		}
	}
	return data, nil
}
