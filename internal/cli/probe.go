package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/cli/terminal"
	core "github.com/fairlead-io/fairlead/internal/core/probe"
	"github.com/fairlead-io/fairlead/internal/core/render"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/internal/workload/probe"
	"github.com/fairlead-io/fairlead/internal/workload/upstream"
	"github.com/fairlead-io/fairlead/noproxy/dialect"
)

type probeOptions struct {
	renderOptions
	settings, targets, ca string
	expect, clients       []string
	timeout, retry        time.Duration
	urls                  []string
}

// expectations are the values of --expect. The last two mean reachable, by that
// way.
var expectations = []string{string(core.Reachable), string(core.Unreachable), string(core.Proxied), string(core.Direct)}

func probeCommand() *cobra.Command {
	var opts probeOptions
	cmd := &cobra.Command{
		Use:   "probe [URL...] [--expect EXPECTATION] [--targets FILE] [--settings PATH | (--values FILE | --proxy FILE) --cluster FILE]",
		Short: "Try from this machine or pod what is reached, and by which way",
		Long: `Try from this machine or pod what is reached, and by which way: through the
proxy, or directly. Each stage is told apart: DNS, connection, the proxy's answer,
TLS and who signed it, HTTP. Any HTTP status of the target is an answer.

URLs are https://host, http://host or tcp://host:port. --targets is a file with a
list of url, expect and route, as in the chart fairlead-policies. What must not be
reached counts only beside something that is reached by the same way.

The settings are the variables HTTP_PROXY, HTTPS_PROXY and NO_PROXY, or those of
--settings: a folder with a file for each variable and ca.crt, as a relay reads it.
With --values or --proxy, and --cluster, they are what the Secret fairlead-proxy of
that cluster has.

The exit status is 0 if everything is as expected, 1 if not, or if nobody knows,
and 2 if the command line or a file is wrong. No password is printed.`,
		Example: `  fairlead probe https://registry-1.docker.io https://github.com --expect Proxied

  # a list of its own, as curl reads NO_PROXY
  fairlead probe --targets targets.yaml --client curl

  # with what a cluster gets, before it gets it
  fairlead probe https://registry-1.docker.io --values secret-values.yaml --cluster cluster.yaml -o json`,
		PreRunE: func(_ *cobra.Command, args []string) error {
			opts.urls = args
			return usage(opts.checkProbe())
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return runProbe(cmd, opts) },
	}
	flags := cmd.Flags()
	opts.inputFlags(flags)
	flags.StringVar(&opts.settings, "settings", "", "folder with the settings, as a relay reads it, or a machine's file settings")
	flags.StringVar(&opts.targets, "targets", "", "file with a list of url, expect and route, or - for stdin")
	flags.StringVar(&opts.ca, "ca", "", "file with authorities beside the system's, for the variables (default: none)")
	flags.StringArrayVar(&opts.expect, "expect", []string{string(core.Reachable)}, "of all URLs, or once for each in their order: "+strings.Join(expectations, ", "))
	flags.StringSliceVar(&opts.clients, "client", []string{"go"}, "the one client whose reading of NO_PROXY decides, or relay")
	flags.DurationVar(&opts.timeout, "timeout", 10*time.Second, "time for each stage")
	flags.DurationVar(&opts.retry, "retry", 2*time.Second, "time after which what failed is tried once more; 0: never")
	complete(cmd, "expect", fixed(expectations...))
	complete(cmd, "client", fixed(append(dialect.Names(), probe.RelayClient)...))
	outputFlag(cmd, &opts.output, tableOutput, dataOutputs)
	return cmd
}

func (o *probeOptions) checkProbe() error {
	o.expect = strings.Split(strings.Join(o.expect, ","), ",")
	for i := range o.expect {
		if err := anyCase("--expect", &o.expect[i], expectations); err != nil {
			return err
		}
	}
	switch {
	case len(o.expect) != 1 && len(o.expect) != len(o.urls):
		return errors.New("--expect is of all URLs, or there is one for each")
	case len(o.clients) != 1:
		return errors.New("--client is one client")
	case len(o.urls) == 0 && o.targets == "":
		return errors.New("give at least one URL, or --targets")
	case o.timeout < 100*time.Millisecond:
		return errors.New("--timeout is at least 100ms")
	case o.retry < 0:
		return errors.New("--retry is not less than 0")
	case o.settings != "" && o.hasSettings():
		return errors.New("--settings, and --values or --proxy, are two ways to say the settings: use one")
	case o.ca != "" && (o.settings != "" || o.hasSettings()):
		return errors.New("--ca is for the variables: --settings, --values and --proxy have the authorities")
	}
	if o.clients[0] != probe.RelayClient {
		if _, err := dialect.Find(o.clients[0]); err != nil {
			return fmt.Errorf("--client: %w, %s", err, probe.RelayClient)
		}
	}
	return cmp.Or(checkOutput(o.output, dataOutputs), o.checkSettings(), oneStdin(append(o.inputFiles(), o.targets)))
}

func runProbe(cmd *cobra.Command, opts probeOptions) error {
	targets, err := opts.list(cmd.InOrStdin())
	if err != nil {
		return usage(err)
	}
	settings, err := opts.read(cmd)
	if err != nil {
		return usage(err) // status 1 is an answer
	}
	round := probe.Round{Prober: probe.NewProber(opts.timeout), Settings: settings, Client: opts.clients[0], Retry: opts.retry}
	results, err := round.Try(cmd.Context(), targets)
	if err != nil {
		return usage(err)
	}
	if cmd.Context().Err() != nil {
		return context.Cause(cmd.Context())
	}
	err = printFound(cmd.OutOrStdout(), opts.output, results, func(s terminal.Style) []byte { return probeTable(s, results) })
	if err == nil && slices.ContainsFunc(results, func(r core.TargetResult) bool { return r.State != core.Held }) {
		return errQuiet
	}
	return err
}

// list returns the targets of the command line, then those of the file.
func (o *probeOptions) list(stdin io.Reader) ([]core.Target, error) {
	var targets []core.Target
	for i, text := range o.urls {
		expect := o.expect[min(i, len(o.expect)-1)]
		target := core.Target{URL: text, Expect: core.Expectation(expect)}
		if expect == string(core.Proxied) || expect == string(core.Direct) {
			target.Expect, target.Route = core.Reachable, core.Route(expect)
		}
		if err := target.Check(); err != nil {
			return nil, fmt.Errorf("URL %d: %w", i+1, err)
		}
		targets = append(targets, target)
	}
	if o.targets == "" {
		return targets, nil
	}
	text, err := os.ReadFile(o.targets)
	if o.targets == "-" {
		text, err = io.ReadAll(stdin)
	}
	if err != nil {
		return nil, fmt.Errorf("--targets: %w", err)
	}
	more, err := core.ParseTargets(text)
	if err != nil {
		return nil, fmt.Errorf("--targets %s: %w", o.targets, err)
	}
	return append(targets, more...), nil
}

// read returns the settings. No error shows a value.
func (o *probeOptions) read(cmd *cobra.Command) (*upstream.Settings, error) {
	if o.settings != "" {
		folder := o.settings
		if found, err := os.Stat(folder); err == nil && !found.IsDir() && filepath.Base(folder) == upstream.SettingsFile {
			folder = filepath.Dir(folder)
		}
		settings, err := upstream.NewFolder(folder, slog.New(slog.DiscardHandler)).Read()
		if err != nil {
			err = fmt.Errorf("--settings: %w", err)
		}
		return settings, err
	}
	if o.hasSettings() {
		effective, err := oneCluster(cmd, o.renderOptions, "probe is about")
		if err != nil {
			return nil, err
		}
		return upstream.Parse(podSettings(effective))
	}
	files := map[string]string{}
	for _, name := range []string{upstream.HTTPFile, upstream.HTTPSFile, upstream.NoProxyFile} {
		files[name] = cmp.Or(os.Getenv(name), os.Getenv(strings.ToLower(name)))
	}
	if o.ca != "" {
		authorities, err := os.ReadFile(o.ca)
		if err != nil {
			return nil, fmt.Errorf("--ca: %w", err)
		}
		files[upstream.CAFile] = string(authorities)
	}
	settings, err := upstream.Parse(files)
	if err != nil {
		err = fmt.Errorf("the variable %w", err)
	}
	return settings, err
}

// podSettings returns what the Secret fairlead-proxy has.
func podSettings(e resolve.Effective) map[string]string {
	settings := map[string]string{}
	for key, value := range render.PodSecret(e).Data {
		settings[key] = string(value)
	}
	return settings
}

func probeTable(s terminal.Style, results []core.TargetResult) []byte {
	t := terminal.Columns(s, "TARGET", "EXPECT", "ROUTE", "STATE", "REASON", "MESSAGE")
	for _, r := range results {
		t.Add(terminal.SafeCells(r.URL, string(r.Expect), string(r.Route), string(r.State), string(r.Reason), r.Message)...)
	}
	return t.Bytes()
}
