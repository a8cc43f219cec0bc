package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/cli/cluster"
	"github.com/fairlead-io/fairlead/internal/core/document"
	"github.com/fairlead-io/fairlead/internal/core/revision"
	"github.com/fairlead-io/fairlead/internal/core/rollout"
)

func rolloutCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rollout",
		Short: "Watch a change on its way through the fleet, pause it, go back",
		Long: `Watch a change of a CorporateProxy on its way through the fleet, pause it, go back.
The CorporateProxy needs spec.rollout.

pause, resume and undo write the ConfigMap fairlead-rollout-NAME in the operator's
namespace, and nothing else: what keeps the CorporateProxy, such as Flux, does not
undo them. You need the rights to list, create and patch ConfigMaps there.`,
		Example: `  fairlead rollout status corp --watch
  fairlead rollout undo corp`,
		Args: verbs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(rolloutStatusCommand(), rolloutPauseCommand(), rolloutResumeCommand(), rolloutUndoCommand(), rolloutHistoryCommand())
	return cmd
}

// rolloutOptions are the options of every verb about rollouts.
type rolloutOptions struct {
	cluster.Options
	namespace string // the operator's
}

func (o *rolloutOptions) flags(cmd *cobra.Command) {
	connectionFlags(cmd, &o.Options)
	operatorNamespaceFlag(cmd, &o.namespace)
}

const (
	noDryRun     = "none"
	clientDryRun = "client"
	serverDryRun = "server"
)

var dryRuns = []string{noDryRun, clientDryRun, serverDryRun}

func dryRunFlag(cmd *cobra.Command, into *string) {
	cmd.Flags().StringVar(into, "dry-run", noDryRun, "one of "+strings.Join(dryRuns, ", ")+": client sends nothing, server has nothing stored")
	cmd.Flags().Lookup("dry-run").NoOptDefVal = clientDryRun
}

// suffix returns what kubectl appends to what it would have done.
func suffix(dryRun string) string {
	if dryRun == noDryRun {
		return ""
	}
	return " (" + dryRun + " dry run)"
}

// plainName returns the name of a CorporateProxy, which may be given as TYPE/NAME, as kubectl rollout takes it.
func plainName(given string) string {
	return untyped(given, "corporateproxy", "corporateproxies", "cproxy")
}

// untyped cuts TYPE/ from TYPE/NAME if the type is one of these, with or without its group.
func untyped(given string, types ...string) string {
	kind, name, ok := strings.Cut(given, "/")
	if kind, _, _ = strings.Cut(strings.ToLower(kind), "."); ok && slices.Contains(types, kind) {
		return name
	}
	return given
}

// fleetOf is where the verbs about rollouts read, and what they complain to.
type fleetOf struct {
	*cluster.Cluster
	namespace string
	warnings  io.Writer
}

func (o rolloutOptions) connect(cmd *cobra.Command) (fleetOf, error) {
	found, err := cluster.Connect(o.Options)
	return fleetOf{found, o.namespace, cmd.ErrOrStderr()}, err
}

// proxies reads the CorporateProxy of a name, or all.
func (f fleetOf) proxies(ctx context.Context, name string) ([]v1alpha1.CorporateProxy, error) {
	objects, err := f.CorporateProxies(ctx, name)
	if err != nil {
		return nil, err
	}
	all := make([]v1alpha1.CorporateProxy, len(objects))
	for i, object := range objects {
		// The operator's version need not be this command's.
		if err := (document.Document{File: "the cluster", Object: object}).DecodeForeign(&all[i], f.warnings); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// proxy reads one that has rollouts.
func (f fleetOf) proxy(ctx context.Context, name string) (*v1alpha1.CorporateProxy, error) {
	found, err := f.proxies(ctx, name)
	switch {
	case err != nil:
		return nil, err
	case len(found) == 0:
		return nil, fmt.Errorf("there is no CorporateProxy %s", name)
	case found[0].Spec.Rollout == nil:
		return nil, fmt.Errorf("CorporateProxy %s: spec.rollout is not set, so that every change reaches all clusters at once and no revision is kept: set spec.rollout, then make the change", name)
	}
	return &found[0], nil
}

// revisions reads the revisions of a CorporateProxy. One that cannot be read is lost, to the operator, too.
func (f fleetOf) revisions(ctx context.Context, proxy *v1alpha1.CorporateProxy) ([]revision.Public, error) {
	objects, err := f.Revisions(ctx, f.namespace)
	if err != nil {
		return nil, err
	}
	var all []revision.Public
	for _, object := range objects {
		if of, _, ok := revision.ParseName(object.Name); !ok || of != proxy.Name {
			continue
		}
		public, err := revision.ParsePublic(object.Data)
		if err != nil {
			fmt.Fprintf(f.warnings, "warning: ConfigMap %s: %v\n", object.Name, err)
			continue
		}
		all = append(all, public)
	}
	if len(all) == 0 && len(proxy.Status.Revisions) > 0 {
		return nil, fmt.Errorf("the namespace %s has no revision of CorporateProxy %s, and its status has: is the operator in another one (--operator-namespace)?", f.namespace, proxy.Name)
	}
	return all, nil
}

// kept reads a CorporateProxy that has rollouts, and its revisions.
func (o rolloutOptions) kept(cmd *cobra.Command, name string) (fleetOf, *v1alpha1.CorporateProxy, []revision.Public, error) {
	f, err := o.connect(cmd)
	if err != nil {
		return f, nil, nil, err
	}
	proxy, err := f.proxy(cmd.Context(), name)
	if err != nil {
		return f, nil, nil, err
	}
	stored, err := f.revisions(cmd.Context(), proxy)
	return f, proxy, stored, err
}

// control returns what people say; what they say wrongly is a warning.
func (f fleetOf) control(configMap *corev1.ConfigMap) revision.Control {
	control, err := revision.ParseControl(configMap)
	if err != nil {
		fmt.Fprintln(f.warnings, "warning:", err)
	}
	return control
}

// rows reads what clusters are to have. A record that cannot be read is none.
func (f fleetOf) rows(ctx context.Context) ([]rollout.Row, error) {
	reports, err := f.Records(ctx)
	if err != nil {
		return nil, err
	}
	var rows []rollout.Row
	for _, report := range reports {
		record, ok, err := revision.ParseRecord(report.Annotations[v1alpha1.RevisionAnnotation])
		if err != nil {
			fmt.Fprintf(f.warnings, "warning: ProxyReport %s/%s: %v\n", report.Namespace, report.Name, err)
		}
		if ok {
			rows = append(rows, rollout.Row{Key: types.NamespacedName{Namespace: report.Namespace, Name: report.Name}, Record: &record})
		}
	}
	return rows, nil
}

// checkRollout is of the flags that the verbs have in common.
func checkRollout(o rolloutOptions) error {
	return cmp.Or(o.Check(), checkOperatorNamespace(o.namespace))
}
