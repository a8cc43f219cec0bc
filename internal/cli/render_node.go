package cli

import (
	"slices"

	"github.com/spf13/pflag"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/inputs"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
)

// nodeOptions ask for what machines get, in addition to what the CorporateProxy
// asks for.
type nodeOptions struct {
	units, files []string
	staticPods   string
	key          string
}

func (o *nodeOptions) flags(flags *pflag.FlagSet) {
	flags.StringArrayVar(&o.units, "unit", nil, "add a drop-in for this systemd unit, such as crio.service; may be repeated")
	flags.StringArrayVar(&o.files, "file", nil, "add a file for machines: EnvironmentFile, EtcEnvironment, RKE2, K3s, StaticPods, ...; may be repeated")
	flags.StringVar(&o.staticPods, "static-pods", "", "what --file StaticPods does, instead of the CorporateProxy's: Strip, Extend or Set")
	flags.StringVar(&o.key, "key", "", "print this key of the Secret <cluster>-systemd-proxy, decoded")
}

func (o nodeOptions) read() (resolve.Node, error) {
	return inputs.Node(v1alpha1.NodeSettings{Units: o.units, Files: o.files, StaticPods: o.staticPods}, "command line", "")
}

// add adds to what a cluster's machines get. What was checked on the command line
// cannot fail here.
func (o nodeOptions) add(to *resolve.Node) {
	more, _ := o.read()
	if o.staticPods != "" {
		to.StaticPods = more.StaticPods
	}
	to.Units = union(to.Units, more.Units)
	to.Files = union(to.Files, more.Files)
}

func union[T comparable](a, b []T) []T {
	all := slices.Clone(a)
	for _, element := range b {
		if !slices.Contains(all, element) {
			all = append(all, element)
		}
	}
	return all
}
