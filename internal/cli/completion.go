package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

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
