package render

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/core/proxyenv"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/noproxy"
)

// kubeadm copies the proxy variables of its own environment into the static pods
// of the control plane (cmd/kubeadm/app/util/env.go: every name that ends in
// _proxy, in any case). These are the ones there are, each once.
var copiedNames = slices.Concat(proxyenv.Names, slices.DeleteFunc([]string{proxyenv.All, "all_proxy", "FTP_PROXY", "ftp_proxy"},
	func(name string) bool { return slices.Contains(proxyenv.Names, name) }))

// staticPodPatch is a strategic merge patch of a pod: variables are merged by
// name, and a name that is not there is deleted without complaint.
type staticPodPatch struct {
	Spec struct {
		Containers []staticPodContainer `json:"containers"`
	} `json:"spec"`
}

type staticPodContainer struct {
	Name string         `json:"name"`
	Env  []staticPodEnv `json:"env"`
}

type staticPodEnv struct {
	Name  string          `json:"name"`
	Value json.RawMessage `json:"value,omitempty"`
	Patch string          `json:"$patch,omitempty"`
}

// StaticPodPatch returns the patch for one component of the control plane, which
// kubeadm takes from its directory of patches as component0+strategic.json. All
// of them are Go programs.
//
// Strip deletes every variable, Extend writes NO_PROXY alone and leaves the
// proxies that kubeadm copied, Set writes all that are set and deletes the rest.
// A cluster without a proxy gets Strip in any case: NO_PROXY would go and leave a
// foreign proxy without it.
func StaticPodPatch(e resolve.Effective, component string) ([]byte, error) {
	set := machineEnvironment(e, noproxy.AudienceGo)
	mode := e.Node.StaticPods
	if len(set) == 0 {
		mode = resolve.StaticPodsStrip
	}
	env, err := staticPodEnvironment(set, mode)
	if err != nil {
		return nil, problemAt(e, component+" patch", err)
	}
	var patch staticPodPatch
	patch.Spec.Containers = []staticPodContainer{{component, env}}
	text, err := json.MarshalIndent(patch, "", "  ")
	return append(text, '\n'), err
}

func staticPodEnvironment(set []variable, mode resolve.StaticPods) ([]staticPodEnv, error) {
	var env []staticPodEnv
	for _, name := range copiedNames {
		if mode == resolve.StaticPodsExtend && !proxyenv.IsList(name) {
			continue
		}
		i := slices.IndexFunc(set, func(v variable) bool { return v.name == name })
		if i < 0 || mode != resolve.StaticPodsExtend && mode != resolve.StaticPodsSet {
			env = append(env, staticPodEnv{Name: name, Patch: "delete"})
			continue
		}
		value, err := staticPodValue(name, set[i].value)
		if err != nil {
			return nil, err
		}
		env = append(env, staticPodEnv{Name: name, Value: value})
	}
	return env, nil
}

func staticPodPatchOf(component string) func(resolve.Effective) ([]byte, error) {
	return func(e resolve.Effective) ([]byte, error) { return StaticPodPatch(e, component) }
}

// staticPodValue returns a value for env in a patch of a pod, as a JSON string.
//
// Kubernetes expands $(NAME) in it and takes $$ for $
// (k8s.io/kubernetes/third_party/forked/golang/expansion), so every $ is doubled.
// The patch passes jinja and YAML on its way to the machine (see checkUserData),
// and kubeadm reads JSON as YAML, which knows no surrogate pairs: so { and all
// outside printable ASCII is written as \uXXXX, but characters above U+FFFF stand
// for themselves.
//
// The error says what is refused; see checkVariable. kubeadm itself cannot write
// a manifest with some characters in it, or loses them (sigs.k8s.io/yaml reads its
// own JSON as YAML 1.1: DEL, C1 controls and a BOM are errors, NEL is a line end).
func staticPodValue(name, value string) (json.RawMessage, error) {
	if err := checkVariable(name, value); err != nil {
		return nil, err
	}
	if strings.ContainsFunc(value, isLostInManifest) {
		return nil, notCarriable("%s contains a control character that kubeadm cannot write into a manifest", name)
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range value {
		switch {
		case r == '$':
			b.WriteString("$$")
		case r == '"', r == '\\', r == '{', isControl(r), r > 0x7f && r <= 0xffff:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return json.RawMessage(b.String()), nil
}

func isLostInManifest(r rune) bool { return r >= 0x7f && r <= 0x9f || r == 0xfeff }
