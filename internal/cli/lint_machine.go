package cli

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/core/lint"
	"github.com/fairlead-io/fairlead/internal/core/units"
	"github.com/fairlead-io/fairlead/noproxy"
)

// checkMachine is for what a machine has.
func (o *lintOptions) checkMachine() error {
	for _, flag := range []string{"values", "proxy", "override", "form", "trusted-ca", "no-proxy", "http-proxy", "https-proxy"} {
		if o.given(flag) {
			return fmt.Errorf("--systemd and --environ are about what a machine has: they take no --%s", flag)
		}
	}
	switch {
	case o.given("systemd") && o.given("environ"):
		return errors.New("give one of --systemd and --environ")
	case o.given("systemd") && o.systemd == "", o.given("environ") && o.environ == "":
		return errors.New("--systemd or --environ is empty")
	}
	return cmp.Or(oneOf("--audience", o.audience, audiences), checkOutput(o.output, lintOutputs), checkFailOn(&o.failOn, severities), oneStdin(append([]string{o.environ}, o.clusters...)))
}

// lintUnits looks at what each service gets from systemd.
func lintUnits(cmd *cobra.Command, opts lintOptions) ([]lint.Result, error) {
	if info, err := os.Stat(opts.systemd); err != nil {
		return nil, err
	} else if !info.IsDir() {
		return nil, fmt.Errorf("--systemd %s is no folder", opts.systemd)
	}
	services := units.Read(os.DirFS(rootOf(opts.systemd)))
	if len(services) == 0 {
		return nil, fmt.Errorf("%s: no service has a variable of a proxy there, and none is one of a node: is it a folder as /etc/systemd/system is, or the root of a machine?", opts.systemd)
	}
	var readers []lint.Reader
	for _, s := range services {
		readers = append(readers, lint.Service(s)...)
	}
	return lintReaders(cmd, opts, readers)
}

// lintReaders looks at what each has got, and for a service of a node at what the clusters need.
func lintReaders(cmd *cobra.Command, opts lintOptions, readers []lint.Reader) ([]lint.Result, error) {
	var all []lint.Result
	for _, r := range readers {
		if opts.given("audience") {
			r.Audience = noproxy.Audience(opts.audience)
		}
		results := []lint.Result{{List: r.Any}}
		if r.Node {
			var err error
			if results, err = lintFor(cmd, opts, r.Input); err != nil {
				return nil, err
			}
		} else {
			results[0].Findings = lint.Run(r.Input)
		}
		for _, result := range results {
			result.Unit = r.Name
			all = append(all, result)
		}
	}
	return all, nil
}

// rootOf returns the machine that a folder /etc/systemd/system belongs to: its units name files of it.
func rootOf(folder string) string {
	clean := filepath.ToSlash(filepath.Clean(folder))
	if clean == "etc/systemd/system" {
		return "."
	}
	if before, ok := strings.CutSuffix(clean, "/etc/systemd/system"); ok {
		return cmp.Or(before, "/")
	}
	return folder
}

// lintProcess looks at the variables of one process.
func lintProcess(cmd *cobra.Command, opts lintOptions) ([]lint.Result, error) {
	data, err := readFile(opts.environ, cmd.InOrStdin())
	if err != nil {
		return nil, err
	}
	readers := lint.Process(string(data))
	if len(readers) == 0 {
		return nil, fmt.Errorf("--environ %s: no variable in it; a process of the kernel, and one that has ended, have none", opts.environ)
	}
	if len(readers) > 1 {
		readers[0].Name = "the process"
	}
	return lintReaders(cmd, opts, readers)
}
