package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/agents/pods"
	"github.com/fairlead-io/fairlead/internal/core/lint"
)

// never is what --fail-on takes with every verb: findings do not change the exit status.
const never = "never"

// What --fail-on takes, spelled as the output has it.
var (
	severities       = []string{string(lint.Error), string(lint.Warning), string(lint.Info), never}
	failExplain      = []string{"disagreement", never}
	failNodes        = []string{"outdated", never}
	failPods         = append(podFindings(), never)
	severityFailedOn = "exit with 1 for this severity or worse: " + strings.Join(severities, ", ")
)

func podFindings() []string {
	all := texts([]pods.Class{pods.Password, pods.Outdated, pods.Uninjected})
	return append(all, texts(pods.Reasons)...)
}

// failOnFlag adds --fail-on, which takes these.
func failOnFlag(cmd *cobra.Command, into *string, standard, usage string, all []string) {
	cmd.Flags().StringVar(into, "fail-on", standard, usage)
	complete(cmd, "fail-on", fixed(all...))
}

// checkFailOn refuses what is none of these, and spells the others as they are here: error is what scripts have for Error.
func checkFailOn(given *string, all []string) error {
	at := find(all, *given)
	if at < 0 {
		return fmt.Errorf("--fail-on is one of %s, not %q", strings.Join(all, ", "), *given)
	}
	*given = all[at]
	return nil
}

func find(all []string, given string) int {
	return slices.IndexFunc(all, func(one string) bool { return strings.EqualFold(one, given) })
}

// severe says whether the worst of the findings is one that --fail-on names.
func severe(worst lint.Severity, failOn string) bool {
	return worst != "" && failOn != never && slices.Index(severities, string(worst)) <= slices.Index(severities, failOn)
}

// checkFailOnPods takes several, with commas.
func checkFailOnPods(given string) ([]string, error) {
	var chosen []string
	for one := range strings.SplitSeq(given, ",") {
		at := find(failPods, one)
		if at < 0 {
			return nil, fmt.Errorf("--fail-on has one of %s, not %q", strings.Join(failPods, ", "), one)
		}
		chosen = append(chosen, failPods[at])
	}
	if len(chosen) > 1 && slices.Contains(chosen, never) {
		return nil, errors.New("--fail-on: " + never + " stands alone")
	}
	return chosen, nil
}
