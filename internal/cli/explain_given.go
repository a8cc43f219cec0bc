package cli

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/operator/noproxy/explain"
)

// checkCheck is for --check, whose expectations name the clients and the URLs, and lists of their own where none is given.
func (o *explainOptions) checkCheck() error {
	inputs := slices.Concat(o.urls, o.clusters, o.override, []string{o.values, o.proxy})
	switch {
	case len(o.urls) == 0:
		return errors.New("--check takes files with expectations; - is standard input")
	case len(inputs)-len(slices.DeleteFunc(inputs, func(f string) bool { return f == "-" })) > 1:
		return errors.New("only one file can be standard input (-)")
	case o.given["client"], o.given["resolve"], o.given["fail-on"]:
		return errors.New("--check takes files, -o and what a list is made from: its expectations name the clients and URLs, and it fails if one is not met")
	case o.output == wideOutput || o.output == "html":
		return fmt.Errorf("--check prints table, json, yaml, jsonpath= or junit, not %s", o.output)
	case o.given["no-proxy"]:
		return o.checkWritten()
	case o.given["http-proxy"] || o.given["https-proxy"]:
		return errors.New("--http-proxy and --https-proxy stand beside --no-proxy")
	case o.hasSettings() || o.given["audience"]:
		return o.checkInputs()
	}
	return nil
}

// checker is for the list that is given, or for none.
func (o *explainOptions) checker(cmd *cobra.Command) (*explain.Checker, error) {
	if !o.hasSettings() && !o.given["no-proxy"] {
		return explain.NewChecker(), nil
	}
	s, err := o.subject(cmd)
	if err != nil {
		return nil, err
	}
	return explain.NewCheckerOf(s.configuration, s.title), nil
}
