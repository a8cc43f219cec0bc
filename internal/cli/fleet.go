package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/fairlead-io/fairlead/internal/cli/fleet"
	"github.com/fairlead-io/fairlead/internal/core/inputs"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
)

// readFleet reads what inputFlags name.
func readFleet(opts renderOptions, stdin io.Reader, warnings io.Writer) (*fleet.Fleet, error) {
	choice, err := readProxy(opts, stdin, warnings)
	if err != nil {
		return nil, err
	}
	documents, err := readDocuments(opts.clusters, opts.recursive, stdin, warnings)
	if err != nil {
		return nil, err
	}
	overrides := documents
	if len(opts.override) > 0 {
		if overrides, err = readDocuments(opts.override, opts.recursive, stdin, warnings); err != nil {
			return nil, err
		}
	}
	return fleet.New(choice, strings.Join(opts.clusters, ", "), documents, overrides, resolve.Form(opts.form), warnings)
}

// readProxy reads --values, with --trusted-ca, or --proxy.
func readProxy(opts renderOptions, stdin io.Reader, warnings io.Writer) (fleet.Choice, error) {
	none := fleet.Choice{}
	if opts.values == "" {
		documents, err := readDocuments([]string{opts.proxy}, opts.recursive, stdin, warnings)
		if err != nil {
			return none, err
		}
		return fleet.Proxies(opts.proxy, documents, opts.at.time())
	}
	data, err := readValues(opts.values, stdin, warnings)
	if err != nil { // no Problem, which lint would take for a finding
		return none, err
	}
	installation, err := inputs.Values(opts.values, data)
	if err == nil && opts.trustedCA != "" {
		if data, err = readFile(opts.trustedCA, stdin); err == nil {
			err = inputs.AddTrustedCA(&installation.Node, opts.trustedCA, "", data)
		}
	}
	of := func(*clusterv1.Cluster, map[string]string) (resolve.Installation, error) { return installation, nil }
	return fleet.Choice{Of: of, Now: opts.at.time()}, err
}

// oneCluster resolves the one cluster that a verb is about.
func oneCluster(cmd *cobra.Command, opts renderOptions, about string) (resolve.Effective, error) {
	effective, _, err := oneOfFleet(cmd, opts, about)
	return effective, err
}

// oneOfFleet is oneCluster with the fleet in which the cluster is the only one.
func oneOfFleet(cmd *cobra.Command, opts renderOptions, about string) (resolve.Effective, *fleet.Fleet, error) {
	f, err := readFleet(opts, cmd.InOrStdin(), cmd.ErrOrStderr())
	if err != nil {
		return resolve.Effective{}, nil, err
	}
	if len(f.Clusters) != 1 {
		return resolve.Effective{}, nil, fmt.Errorf("%s one cluster, and %s holds %d", about, strings.Join(opts.clusters, ", "), len(f.Clusters))
	}
	effective, err := f.Resolve(f.Clusters[0], cmd.ErrOrStderr())
	return effective, f, err
}
