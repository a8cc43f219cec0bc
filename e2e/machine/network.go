// Package machine runs a Debian machine with systemd, containerd and cloud-init behind a corporate proxy:
//
//	corp ─── dmz ─── internet      corp      where the machine lives; the spoke of a tunnel
//	 │                             dmz       squid, the only way out
//	cluster                        internet  a registry; the hub of a tunnel
//	                               cluster   what is reached directly: a service, the control plane's endpoint
//
// All of it lives in namespaces of its own, with names that nobody else sees. It goes with this process,
// however that ends.
package machine

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/fairlead-io/fairlead/e2e/process"
	"github.com/fairlead-io/fairlead/e2e/tools"
)

// Namespace is one of the networks.
type Namespace string

// The networks, see the package.
const (
	Corp     Namespace = "corp"
	Cluster  Namespace = "cluster"
	DMZ      Namespace = "dmz"
	Internet Namespace = "internet"
)

// The addresses. The service is in the published example's service CIDR, 100.64.0.0/13.
const (
	CorpAddress     = "192.168.52.10"      // in corp
	ProxyAddress    = "192.168.52.220"     // in dmz, as corp sees it
	ProxyName       = "proxy.corp.example" // of that, to processes in corp
	InternetAddress = "203.0.113.10"       // in internet
	InternetName    = "registry.example"   // of that, to squid and to machines
	HubAddress      = "203.0.113.20"       // in internet
	HubName         = "hub.example"        // of that, to squid alone
	ServiceAddress  = "100.64.0.10"        // in cluster
	ServiceName     = "web.shop.svc"       // of that, to processes in corp
	EndpointAddress = "178.170.32.59"      // in cluster
)

// Dir is for the files of a network, in its own mount namespace: see Path.
const Dir = "/run/fairlead"

//go:embed network.sh
var script string

// Network is the four networks and what runs in them.
type Network struct {
	process *process.Process
	init    int // what all processes in it descend from
}

// Start makes the networks. The error holds tools.ErrUnavailable where that cannot be done.
func Start(ctx context.Context) (*Network, error) {
	if err := available("unshare", "nsenter", "ip"); err != nil {
		return nil, err
	}
	log, err := os.MkdirTemp("", "fairlead-machine-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for the log: %w", err)
	}
	defer os.RemoveAll(log) // once it says "ready", it says no more
	logFile := filepath.Join(log, "network.log")
	n := &Network{}
	n.process, err = process.Start(ctx, process.Spec{
		Name: "the network",
		Path: "unshare",
		// process.Start sees to it that unshare dies with us, kill-child that its child does. That child is
		// the first process of its namespace: the kernel ends all others with it.
		Args: []string{
			"--net", "--mount", "--mount-proc", "--pid", "--fork", "--kill-child",
			"sh", "-c", script,
		},
		Env: []string{
			"DIR=" + Dir, "CORP=" + CorpAddress, "PROXY=" + ProxyAddress, "PROXY_NAME=" + ProxyName,
			"INTERNET=" + InternetAddress, "HUB=" + HubAddress,
			"SERVICE=" + ServiceAddress, "SERVICE_NAME=" + ServiceName,
			"ENDPOINT=" + EndpointAddress,
		},
		LogFile: logFile,
		Ready: func(context.Context) error {
			said, err := os.ReadFile(logFile)
			if err == nil && !strings.HasSuffix(string(said), "ready\n") {
				err = errors.New("the script is at work")
			}
			return err
		},
	})
	if err == nil {
		n.init, err = OnlyChild(n.process.PID())
	}
	if err != nil {
		return nil, errors.Join(err, n.Close())
	}
	return n, nil
}

// Close ends what still runs in the networks, and them.
func (n *Network) Close() error {
	if n.process != nil {
		n.process.Kill()
	}
	return n.removeCgroups()
}

// Path is where this process sees a file of the network's mount namespace.
func (n *Network) Path(elements ...string) string {
	return filepath.Join(append([]string{fmt.Sprintf("/proc/%d/root", n.init)}, elements...)...)
}

// available tells whether this process may and can run programs that need root.
func available(programs ...string) error {
	if os.Getuid() != 0 {
		return fmt.Errorf("%w: network namespaces and machines need root", tools.ErrUnavailable)
	}
	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil {
			return fmt.Errorf("%w: %w (make deps)", tools.ErrUnavailable, err)
		}
	}
	return nil
}
