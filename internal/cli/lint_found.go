package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/agents/lists"
	"github.com/fairlead-io/fairlead/internal/cli/fleet"
	"github.com/fairlead-io/fairlead/internal/core/document"
	"github.com/fairlead-io/fairlead/internal/core/lint"
)

// lintFound looks at the lists that manifests have themselves, for each cluster, if there are any.
func lintFound(cmd *cobra.Command, opts lintOptions, manifests []document.Document) ([]lint.Result, error) {
	var places []lists.Place
	for _, d := range manifests {
		places = append(places, lists.In(d.File, d.Title(), d.Object.Object)...)
	}
	if len(places) == 0 && opts.manifestsAlone() {
		return nil, fmt.Errorf("%s: no list in it, and no proxy", strings.Join(opts.files, ", "))
	}
	var clusters []document.Document
	if len(opts.clusters) > 0 && len(places) > 0 {
		var err error
		if clusters, err = readDocuments(opts.clusters, opts.recursive, cmd.InOrStdin(), cmd.ErrOrStderr()); err != nil {
			return nil, err
		}
	}
	return lists.Judge(places, func(in lint.Input) ([]lint.Result, error) { return fleet.LintList(in, clusters, cmd.ErrOrStderr()) })
}
