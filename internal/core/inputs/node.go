package inputs

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/render"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
)

// unitName is a service whose name can be a key of a Secret: systemd.unit(5)
// allows ":", "\\" and "@", too, a Secret does not.
var unitName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*\.service$`)

const maxUnitName = 200 // a key of a Secret has 253 characters, a file name 255

// NodeFiles are all there are. The CRD lists them, too; a manifest that only the
// command line has seen has not met it.
var NodeFiles = []resolve.NodeFile{
	resolve.FileEnvironmentFile, resolve.FileEtcEnvironment, resolve.FileRKE2, resolve.FileK3s,
	resolve.FileStaticPods, resolve.FileFlatcar, resolve.FileFedoraCoreOS,
}

// StaticPods are all that patches of static pods can do.
var StaticPods = []resolve.StaticPods{resolve.StaticPodsStrip, resolve.StaticPodsExtend, resolve.StaticPodsSet}

// Node reads what machines are to get. Object and prefix say where the fields
// stand. The error is a *resolve.Problem.
func Node(spec v1alpha1.NodeSettings, object, prefix string) (resolve.Node, error) {
	node := resolve.Node{
		StaticPods:  cmp.Or(resolve.StaticPods(spec.StaticPods), resolve.StaticPodsStrip), // the CRD's default
		Base64Twins: spec.Base64Twins,
	}
	if !slices.Contains(StaticPods, node.StaticPods) {
		return node, invalid(object, prefix+"staticPods", "%q is none of %s", spec.StaticPods, StaticPods)
	}
	for i, unit := range spec.Units {
		if !unitName.MatchString(unit) || len(unit) > maxUnitName {
			return node, invalid(object, fmt.Sprintf("%sunits[%d]", prefix, i),
				"%q is not the name of a service, such as crio.service: letters, digits, \"-\", \"_\" and \".\", at most %d, no path and no template", unit, maxUnitName)
		}
		if unit != render.Containerd && unit != render.Kubelet && !slices.Contains(node.Units, unit) {
			node.Units = append(node.Units, unit)
		}
	}
	for i, file := range spec.Files {
		if !slices.Contains(NodeFiles, resolve.NodeFile(file)) {
			return node, invalid(object, fmt.Sprintf("%sfiles[%d]", prefix, i), "%q is none of %s", file, NodeFiles)
		}
		node.Files = append(node.Files, resolve.NodeFile(file))
	}
	return node, nil
}
