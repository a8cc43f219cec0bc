package release

import (
	"context"
	"fmt"
	"strings"
)

// Namespace is where the manifests install. No manifest has the Namespace itself: so deleting the objects of a file
// keeps the Secrets in it.
const Namespace = "fairlead-system"

// Manifest is a file for kubectl apply: what Helm prints of a chart.
type Manifest struct {
	File  string
	Chart string   // a folder of charts, and the name of the release
	CRDs  bool     // the chart's CRDs, and nothing else
	Set   []string // where the chart's defaults need a proxy: a file for everybody has none
}

// Manifests are all of them, in the order in which one applies them. None has a password: users bring a Secret.
var Manifests = []Manifest{
	{File: "fairlead-crds.yaml", Chart: "fairlead", CRDs: true},
	{File: "fairlead-operator.yaml", Chart: "fairlead", Set: []string{"corporateProxy.create=false"}},
	{File: "fairlead-policies-kyverno.yaml", Chart: "fairlead-policies", Set: []string{"source.existing=true", "engine=Kyverno"}},
	{File: "fairlead-policies-native.yaml", Chart: "fairlead-policies", Set: []string{"source.existing=true", "engine=Native"}},
}

// WriteManifests writes the files of Manifests.
func WriteManifests(ctx context.Context, options Options) error {
	for _, manifest := range Manifests {
		args := []string{"show", "crds", "charts/" + manifest.Chart}
		if !manifest.CRDs {
			args = []string{
				"template", manifest.Chart, "charts/" + manifest.Chart, "--namespace", Namespace, "--set", strings.Join(manifest.Set, ","),
			}
		}
		printed, err := options.run(ctx, options.Helm, args...)
		if err != nil {
			return fmt.Errorf("write %s: %w", manifest.File, err)
		}
		head := fmt.Sprintf("# helm %s\n", strings.Join(args, " "))
		if err := options.write(manifest.File, append([]byte(head), printed...)); err != nil {
			return err
		}
	}
	return nil
}
