package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/internal/agents/doctor"
	"github.com/fairlead-io/fairlead/internal/agents/mutation"
	"github.com/fairlead-io/fairlead/internal/cli/cluster"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/noproxy/dialect"
)

// patience is how long somebody who has pressed the tab key waits for a cluster.
const patience = 2 * time.Second

var anyFile = cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault)

var manifests = fileNames("yaml", "yml", "json")

// flagValues says how a flag is completed, by its name, which means the same with every verb. Only -o differs.
var flagValues = map[string]cobra.CompletionFunc{
	"filename": manifests, "values": manifests, "proxy": manifests, "cluster": manifests, "override": manifests, "policy-values": manifests,
	"targets":    manifests,
	"expect":     fileNames("json"),
	"trusted-ca": fileNames("pem", "crt", "cer"), "ca": fileNames("pem", "crt", "cer"),
	"kubeconfig": anyFile, "settings": anyFile, "environ": anyFile,
	"systemd": cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs),
	"form":    fixed(forms...), "audience": fixed(audiences...), "variant": fixed(variants...),
	"carry": fixed(carries...),
	"file":  fixed(texts(resolve.NodeFiles)...), "static-pods": fixed(texts(resolve.EveryStaticPods)...), "delivery": fixed(texts(resolve.Deliveries)...),
	"client": completeClients, "policy": completePolicies,
	"namespace": completeNamespaces, "operator-namespace": completeNamespaces, "context": completeContexts,
	"dry-run": fixed(dryRuns...),
	// Nobody knows these but who types them.
	"no-proxy": fixed(), "http-proxy": fixed(), "https-proxy": fixed(), "resolve": fixed(), "unit": fixed(), "key": fixed(), "repository": fixed(), "idle-timeout": fixed(),
	"retry": fixed(), "at": fixed(),
	"selector": fixed(), "name": fixed(),
	"pod-selector": fixed(), "access-log": cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault), "proxy-address": fixed(), "allow": fixed(), "relay-namespace": completeNamespaces,
	"request-timeout": fixed(), "timeout": fixed(), "revision": fixed(), "reject": fixed(), "from": completeRevisions, "to": completeRevisions,
}

func completeFlags(root *cobra.Command) {
	walk(root, func(cmd *cobra.Command) {
		cmd.Flags().VisitAll(func(flag *pflag.Flag) {
			if with, ok := flagValues[flag.Name]; ok {
				complete(cmd, flag.Name, with)
			}
		})
	})
}

// complete cannot fail: the flag is there, and has no completion yet.
func complete(cmd *cobra.Command, flag string, with cobra.CompletionFunc) {
	_ = cmd.RegisterFlagCompletionFunc(flag, with)
}

func fixed(values ...string) cobra.CompletionFunc {
	return cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)
}

func fileNames(extensions ...string) cobra.CompletionFunc {
	return cobra.FixedCompletions(extensions, cobra.ShellCompDirectiveFilterFileExt)
}

func texts[T ~string](values []T) []string {
	all := make([]string, len(values))
	for i, value := range values {
		all[i] = string(value)
	}
	return all
}

// completeClients completes the last of a list with commas.
func completeClients(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	before := typed[:strings.LastIndex(typed, ",")+1]
	names := []string{before + "all"}
	for _, client := range dialect.Clients() {
		names = append(names, before+client.Name)
	}
	return names, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

func completePolicies(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var names []string
	if values, err := mutation.ReadValues(); err == nil {
		if chart, err := values.Render(); err == nil {
			names = chart.Names()
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completeRevisions are branches and tags of the git repository around.
func completeRevisions(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return revisionNames(), cobra.ShellCompDirectiveNoFileComp
}

func completeContexts(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	return cluster.Contexts(flagValue(cmd, "kubeconfig")), cobra.ShellCompDirectiveNoFileComp
}

func completeNamespaces(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	return namesOf(cmd, true, "", schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}), cobra.ShellCompDirectiveNoFileComp
}

// completeWorkloads completes the one argument of doctor tunnel.
func completeWorkloads(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	var names []string
	if len(args) == 0 {
		for _, w := range doctor.Workloads {
			resource := schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: w.Resource}
			names = append(names, namesOf(cmd, false, strings.ToLower(w.Kind)+"/", resource)...)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// namesOf asks the cluster for names. Of what it does not tell there are none.
func namesOf(cmd *cobra.Command, everywhere bool, prefix string, resource schema.GroupVersionResource) []string {
	cluster, err := cluster.Connect(cluster.Options{
		Kubeconfig: flagValue(cmd, "kubeconfig"), Context: flagValue(cmd, "context"), Namespace: flagValue(cmd, "namespace"), AllNamespaces: everywhere,
	})
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), patience)
	defer cancel()
	found, err := cluster.Metadata(ctx, resource, cluster.Namespace, "")
	if err != nil {
		return nil
	}
	all := make([]string, len(found))
	for i, object := range found {
		all[i] = prefix + object.Name
	}
	return all
}

// flagValue returns the value of a flag, or "" if the command does not have it.
func flagValue(cmd *cobra.Command, flag string) string {
	value, _ := cmd.Flags().GetString(flag)
	return value
}

// shells has what each shell reads, for the root command.
var shells = map[string]func(*cobra.Command, io.Writer) error{
	"bash": func(root *cobra.Command, out io.Writer) error { return root.GenBashCompletionV2(out, true) },
	"zsh":  func(root *cobra.Command, out io.Writer) error { return root.GenZshCompletion(out) },
	"fish": func(root *cobra.Command, out io.Writer) error { return root.GenFishCompletion(out, true) },
}

var shellNames = []string{"bash", "zsh", "fish"}

func completionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "completion " + strings.Join(shellNames, "|"),
		Short: "Print a shell script that completes commands, flags and values",
		Long: `Print a shell script that completes commands, flags and values. Namespaces,
workloads and contexts are those of the cluster and the kubeconfig in use.

bash needs its package bash-completion. For kubectl fairlead, have a program
kubectl_complete-fairlead in PATH with these two lines; kubectl's own completion
does the rest:

  #!/bin/sh
  exec kubectl fairlead __complete "$@"`,
		Example: `  # for this shell
  source <(fairlead completion bash)

  # for all shells
  fairlead completion bash > /etc/bash_completion.d/fairlead
  fairlead completion zsh > "${fpath[1]}/_fairlead"
  fairlead completion fish > ~/.config/fish/completions/fairlead.fish`,
		ValidArgs: shellNames,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 1 && shells[args[0]] != nil {
				return nil
			}
			return usage(fmt.Errorf("give one of the shells %s", strings.Join(shellNames, ", ")))
		},
		RunE: func(cmd *cobra.Command, args []string) error { return shells[args[0]](cmd.Root(), cmd.OutOrStdout()) },
	}
}
