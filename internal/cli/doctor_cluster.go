package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/cli/cluster"
	"github.com/fairlead-io/fairlead/internal/cli/terminal"
	"github.com/fairlead-io/fairlead/internal/core/diagnosis"
	"github.com/fairlead-io/fairlead/internal/core/document"
	"github.com/fairlead-io/fairlead/internal/core/render"
)

func doctorClusterCommand() *cobra.Command {
	var opts oneOptions
	cmd := &cobra.Command{
		Use:   "cluster [-n NAMESPACE] NAME",
		Short: "Say what is wrong with a cluster's proxy settings, since when, and who must do what",
		Long: `Say what is wrong with a cluster's proxy settings, since when, and who must do what;
the worst first. If nothing is wrong, it says so, and what it looked at and what not.

It reads the management cluster, with your rights: the operator's Lease; the Cluster,
its ProxyReport and Machines; the CorporateProxy. Of Secrets, Clusters and Machines it
asks for metadata alone, so no password leaves the API server. What you have no right
to read is named, and the rest is judged.

Whether programs in the cluster get out is known where somebody observes that:
status.observed of the ProxyReport. doctor itself connects to no workload cluster.

The exit status is 0 if nothing is wrong, 1 if something is, 3 if nobody can tell, 2
for an error: the command line is wrong, there is no such cluster, or it is not read.`,
		Example: `  fairlead doctor cluster -n org-acme mycluster

  # for a script
  fairlead doctor cluster -n org-acme mycluster -o jsonpath='{.sentences[*].code}'`,
	}
	return opts.command(cmd, func() error { return nil }, func(cmd *cobra.Command, name string) error { return runDoctorCluster(cmd, opts, name) })
}

// clusterName is NAME, or TYPE/NAME as kubectl takes it.
func clusterName(given string) (string, error) {
	name := untyped(given, "cluster", "clusters", "proxyreport", "proxyreports")
	if name == "" || name == given && strings.Contains(given, "/") {
		return "", errors.New("give NAME or cluster/NAME, and the namespace with -n")
	}
	return name, nil
}

var errCannotTell = fmt.Errorf("%w: nobody can tell", errQuiet)

func runDoctorCluster(cmd *cobra.Command, opts oneOptions, name string) error {
	from, err := cluster.Connect(opts.Options)
	if err != nil {
		return exitError{err} // status 1 is an answer
	}
	in, err := readCluster(cmd.Context(), from, opts.operatorNamespace, name, cmd.ErrOrStderr())
	if err != nil {
		return exitError{err}
	}
	d := diagnosis.Judge(in)
	if err := printFound(cmd.OutOrStdout(), opts.output, d, func(s terminal.Style) []byte { return diagnosisText(s, d) }); err != nil {
		return exitError{err}
	}
	switch d.Verdict {
	case diagnosis.Wrong:
		return errQuiet
	case diagnosis.CannotTell:
		return errCannotTell
	case diagnosis.NothingWrong:
	}
	return nil
}

// clusterReader reads the objects to judge, and notes those that may not be read.
type clusterReader struct {
	*cluster.Cluster
	in diagnosis.Input
}

func readCluster(ctx context.Context, from *cluster.Cluster, operator, name string, warnings io.Writer) (diagnosis.Input, error) {
	r := clusterReader{from, diagnosis.Input{
		Now: time.Now(), Namespace: from.Namespace, Name: name, OperatorNamespace: operator, Unread: map[diagnosis.Source]string{},
	}}
	if err := r.subject(ctx, warnings); err != nil {
		return r.in, err
	}
	err := r.beside(ctx, warnings)
	return r.in, err
}

// unread notes that a right is missing; any other error is one.
func (r *clusterReader) unread(source diagnosis.Source, err error) error {
	return noteMissing(r.in.Unread, source, err)
}

func noteMissing[S comparable](unread map[S]string, source S, err error) error {
	right, ok := cluster.MissingRight(err)
	if ok {
		unread[source] = right
		return nil
	}
	return err
}

// subject reads the Cluster and its report. One of them must be there, unless nobody knows.
func (r *clusterReader) subject(ctx context.Context, warnings io.Writer) error {
	found, err := r.Clusters(ctx, r.in.Namespace, r.in.Name)
	if err = r.unread(diagnosis.SourceCluster, err); err != nil {
		return err
	}
	if len(found) > 0 {
		r.in.Cluster = &found[0]
	}
	object, err := r.ProxyReport(ctx, r.in.Namespace, r.in.Name)
	if err = r.unread(diagnosis.SourceReport, err); err != nil {
		return err
	}
	if object != nil {
		r.in.Report = &v1alpha1.ProxyReport{}
		// The operator's version need not be this command's.
		return document.Document{File: "the cluster", Object: *object}.DecodeForeign(r.in.Report, warnings)
	}
	if r.in.Cluster == nil && len(r.in.Unread) == 0 {
		return r.notFound(ctx)
	}
	return nil
}

// beside reads what the report is about.
func (r *clusterReader) beside(ctx context.Context, warnings io.Writer) error {
	lease, err := r.Lease(ctx, r.in.OperatorNamespace, diagnosis.LeaseName)
	if err = r.unread(diagnosis.SourceOperator, err); err != nil {
		return err
	}
	r.in.Lease = leaseOf(lease)
	if r.in.Machines, err = r.Machines(ctx, r.in.Namespace, r.in.Name); r.unread(diagnosis.SourceMachines, err) != nil {
		return err
	}
	names := []string{r.in.Name + render.ValuesSuffix, r.in.Name + render.SystemdSuffix}
	if r.in.Secrets, err = r.Secrets(ctx, r.in.Namespace, names...); r.unread(diagnosis.SourceSecrets, err) != nil {
		return err
	}
	if r.in.Report == nil || r.in.Report.Status.ProxyName == "" {
		return nil
	}
	f := fleetOf{r.Cluster, r.in.OperatorNamespace, warnings}
	proxies, err := f.proxies(ctx, r.in.Report.Status.ProxyName)
	if err = r.unread(diagnosis.SourceProxy, err); err == nil && len(proxies) > 0 {
		r.in.Proxy = &proxies[0]
	}
	return err
}

func leaseOf(lease *coordinationv1.Lease) *diagnosis.Lease {
	if lease == nil || lease.Spec.RenewTime == nil {
		return nil
	}
	l := &diagnosis.Lease{Renewed: lease.Spec.RenewTime.Time}
	if holder := lease.Spec.HolderIdentity; holder != nil {
		l.Holder = *holder
	}
	if seconds := lease.Spec.LeaseDurationSeconds; seconds != nil {
		l.Duration = time.Duration(*seconds) * time.Second
	}
	return l
}

// notFound says where a Cluster of that name is, or which names are like it.
func (r *clusterReader) notFound(ctx context.Context) error {
	text := fmt.Sprintf("there is no Cluster %s in the namespace %s", terminal.Shortened(r.in.Name), r.in.Namespace)
	if elsewhere, err := r.Clusters(ctx, "", r.in.Name); err == nil && len(elsewhere) > 0 {
		var namespaces []string
		for _, c := range elsewhere {
			namespaces = append(namespaces, c.Namespace)
		}
		return fmt.Errorf("%s; there is one in: %s (give it with -n)", text, strings.Join(namespaces, ", "))
	}
	near := &cobra.Command{} // whose verbs are the Clusters: cobra compares the names of verbs only
	if all, err := r.Clusters(ctx, r.in.Namespace, ""); err == nil {
		for _, c := range all {
			near.AddCommand(&cobra.Command{Use: c.Name, Run: func(*cobra.Command, []string) {}})
		}
	}
	return errors.New(text + meant(near, r.in.Name, ""))
}

func completeClusters(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return namesOf(cmd, false, "", v1alpha1.GroupVersion.WithResource("proxyreports")), cobra.ShellCompDirectiveNoFileComp
}

var verdicts = map[diagnosis.Verdict]string{
	diagnosis.NothingWrong: "nothing is wrong", diagnosis.Wrong: "something is wrong", diagnosis.CannotTell: "nobody can tell whether something is wrong",
}

// diagnosisText returns a paragraph for each sentence, and below them the list of objects that were looked at.
func diagnosisText(s terminal.Style, d diagnosis.Diagnosis) []byte {
	out := terminal.Findings{Style: s}
	verdict := verdicts[d.Verdict]
	if d.Verdict == diagnosis.NothingWrong && slices.ContainsFunc(d.Sentences, func(s diagnosis.Sentence) bool { return strings.HasPrefix(s.Code, diagnosis.OfFindings) }) {
		verdict += " but what lint says of the settings"
	}
	fmt.Fprintf(&out, "Cluster %s: %s.\n\n", terminal.ASCII(d.Cluster), verdict)
	for _, said := range d.Sentences {
		out.Add(string(said.Severity), terminal.ASCII(said.Code)+lastingSince(said), terminal.ASCII(said.Text), terminal.Labelled("do", terminal.ASCII(said.Do)))
	}
	fmt.Fprintf(&out, "Looked at: %s.\n", strings.Join(d.LookedAt, ", "))
	for _, one := range d.NotLookedAt {
		fmt.Fprint(&out, s.Notes("Not looked at: "+terminal.ASCII(one)))
	}
	return out.Bytes()
}

// lastingSince returns what stands after the code of a sentence: "  since" and the time, or "" if no time is known.
func lastingSince(said diagnosis.Sentence) string {
	if said.Since.IsZero() {
		return ""
	}
	return "  " + diagnosis.Lasting(said.Code) + "since " + said.Since.UTC().Format(time.RFC3339)
}
