// Package clusterapi runs the controllers of Cluster API as plain processes beside a control plane, with
// their webhooks registered, and makes the few objects from which the kubeadm bootstrap provider makes a
// machine's bootstrap data. No infrastructure provider runs: tests say in its place that infrastructure
// is provisioned, and no machine comes into being.
package clusterapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/fairlead-io/fairlead/e2e/authority"
	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/ports"
	"github.com/fairlead-io/fairlead/e2e/process"
	"github.com/fairlead-io/fairlead/e2e/tools"
)

// Feature gates that are off by default, enabled.
const (
	FormatIgnition  = "KubeadmBootstrapFormatIgnition=true" // without it the webhooks refuse format: ignition
	ClusterTopology = "ClusterTopology=true"                // without it the webhooks refuse a ClusterClass
)

// Options are all optional.
type Options struct {
	FeatureGates []string  // as above
	Progress     io.Writer // is told what takes long: builds
}

// Provider is a running controller with its webhooks. They stay registered when it stops: nothing of its kinds can
// be written then.
type Provider struct {
	*process.Process
	row         row
	authority   *authority.Authority // of the webhooks' certificate
	webhooks    *ports.Port
	diagnostics *ports.Port
	health      *ports.Port
}

// row has the differences between the controllers.
type row struct {
	tool   tools.Tool
	folder string // in the module, of the main package
	probe  string // an object that both kinds of webhooks are asked about
}

// StartCore starts the core controllers: Clusters, their topology, Machines and their owners.
func StartCore(ctx context.Context, cp *controlplane.ControlPlane, options Options) (*Provider, error) {
	return start(ctx, cp, core, options)
}

// StartBootstrapProvider starts the kubeadm bootstrap provider, which makes machines' bootstrap data from
// KubeadmConfigs.
func StartBootstrapProvider(ctx context.Context, cp *controlplane.ControlPlane, options Options) (*Provider, error) {
	return start(ctx, cp, kubeadmBootstrap, options)
}

// StartControlPlaneProvider starts the kubeadm control plane provider.
func StartControlPlaneProvider(ctx context.Context, cp *controlplane.ControlPlane, options Options) (*Provider, error) {
	return start(ctx, cp, kubeadmControlPlane, options)
}

// start returns when the controller runs and the API server asks its webhooks. The CRDs must be installed
// before: see controlplane.ClusterAPI, which operator.Install includes. The controller is the
// control plane's administrator: its permissions are not the subject here.
func start(ctx context.Context, cp *controlplane.ControlPlane, row row, options Options) (*Provider, error) {
	path, err := tools.Build(ctx, row.tool, options.Progress)
	if err != nil {
		return nil, err
	}
	p := &Provider{row: row}
	for _, port := range []**ports.Port{&p.webhooks, &p.diagnostics, &p.health} {
		if *port, err = ports.Reserve(); err != nil {
			return nil, err
		}
	}
	certificates := filepath.Join(cp.Dir(), row.tool.Name)
	p.authority, err = authority.New(row.tool.Name)
	if err == nil {
		err = os.MkdirAll(certificates, 0o700)
	}
	if err == nil {
		_, _, _, err = p.authority.Write(certificates, "127.0.0.1")
	}
	if err != nil {
		return nil, fmt.Errorf("make the webhook certificate of %s: %w", row.tool.Name, err)
	}
	p.Process, err = cp.Run(ctx, process.Spec{
		Name: row.tool.Name,
		Path: path,
		Args: []string{
			"--kubeconfig=" + cp.AdminKubeconfig(),
			"--webhook-port=" + p.webhooks.String(),
			"--webhook-cert-dir=" + certificates,
			"--diagnostics-address=" + p.diagnostics.Address(),
			"--insecure-diagnostics",
			"--health-addr=" + p.health.Address(),
			"--feature-gates=" + strings.Join(options.FeatureGates, ","),
		},
		Ready: func(ctx context.Context) error {
			_, err := process.Get(ctx, "http://"+p.health.Address()+"/readyz")
			return err
		},
	})
	if err != nil {
		return nil, err
	}
	if err := p.registerWebhooks(ctx, cp); err != nil {
		return nil, errors.Join(fmt.Errorf("register the webhooks of %s: %w", row.tool.Name, err), p.Stop())
	}
	return p, nil
}
