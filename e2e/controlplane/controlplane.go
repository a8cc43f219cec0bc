// Package controlplane runs a real Kubernetes control plane on the loopback interface: etcd,
// kube-apiserver with RBAC and an audit log, and on request kube-controller-manager. There are no
// nodes and no scheduler: a pod is an object here.
//
// It starts the programs itself rather than through controller-runtime's envtest, which hides its
// processes: they could not be made to die with the test, be left running for a demo, or be asked for
// their last words.
package controlplane

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/e2e/ports"
	"github.com/fairlead-io/fairlead/e2e/process"
)

// Options are all optional.
type Options struct {
	// Dir holds everything the control plane writes. Without it a folder is made among the temporary
	// files. Either way Stop removes it.
	Dir string
	// Progress is told what takes long: builds.
	Progress io.Writer
	// KeepRunning lets the programs outlive this one, for a demo. StopKept(cp.Dir()) ends them.
	KeepRunning bool
	// APIServerArgs are added to the command line of kube-apiserver, for example feature gates.
	APIServerArgs []string
	// Content is there from the start. It needs the API server's defaults.
	Content []Content
	// AuditPolicy replaces audit-policy.yaml for the API server. AuditEvents finds the writes whose stages
	// RequestReceived and ResponseComplete it logs.
	AuditPolicy []byte
	// Hosts are names and addresses that the API server's certificate is for, beside those of the loopback interface.
	Hosts []string
	// ControllerAccounts gives each controller of kube-controller-manager the service account that kubeadm gives it, in
	// place of an administrator's rights.
	ControllerAccounts bool
}

// ControlPlane is a running control plane.
type ControlPlane struct {
	options  Options
	dir      directory
	programs programs
	pki      pki
	port     *ports.Port
	admin    *rest.Config
	client   client.Client
	clients  kubernetes.Interface

	mu                sync.Mutex // guards the processes
	etcd              *process.Process
	apiServer         *process.Process
	controllerManager *process.Process
	managerPort       *ports.Port
}

// Start returns when the API server is ready and has its first namespaces. The context bounds the
// start; the control plane runs until Stop, or dies with this process.
func Start(ctx context.Context, options Options) (*ControlPlane, error) {
	found, err := findPrograms(ctx, options.Progress)
	if err != nil {
		return nil, err
	}
	dir, err := newDirectory(options)
	if err != nil {
		return nil, err
	}
	cp := &ControlPlane{options: options, dir: dir, programs: found}
	if err := cp.start(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("start control plane: %w", err), cp.Stop())
	}
	return cp, nil
}

func (cp *ControlPlane) start(ctx context.Context) (err error) {
	if cp.port, err = ports.Reserve(); err != nil {
		return err
	}
	if cp.pki, err = writePKI(cp.dir, cp.options.Hosts); err != nil {
		return fmt.Errorf("make certificates: %w", err)
	}
	if cp.admin, err = cp.User("fairlead-e2e-admin", "system:masters"); err != nil {
		return err
	}
	if err := cp.writeKubeconfig(cp.dir.adminKubeconfig(), cp.admin); err != nil {
		return err
	}
	if err := cp.connect(); err != nil {
		return err
	}
	if err := cp.fill(ctx); err != nil {
		return err
	}
	if err := cp.StartEtcd(ctx); err != nil {
		return err
	}
	if err := cp.StartAPIServer(ctx); err != nil {
		return err
	}
	return cp.awaitNamespaces(ctx, "default", "kube-system")
}

// connect makes the administrator's clients, which ask nothing of the API server yet.
func (cp *ControlPlane) connect() (err error) {
	if cp.client, err = client.New(cp.admin, client.Options{}); err == nil {
		cp.clients, err = kubernetes.NewForConfig(cp.admin)
	}
	if err != nil {
		return fmt.Errorf("make admin clients: %w", err)
	}
	return nil
}

// Dir is where everything of this control plane is: logs, data, kubeconfig files. AdminKubeconfig is
// for people; tests use Admin.
func (cp *ControlPlane) Dir() string { return string(cp.dir) }

// AdminKubeconfig is the path of a kubeconfig file with all rights.
func (cp *ControlPlane) AdminKubeconfig() string { return cp.dir.adminKubeconfig() }

// Stop ends all programs and removes all files. It may be called more than once. Nothing that the programs might still
// write is needed: they are killed.
func (cp *ControlPlane) Stop() error {
	for _, program := range []**process.Process{&cp.controllerManager, &cp.apiServer, &cp.etcd} {
		cp.kill(program)
	}
	var errs []error
	if cp.managerPort != nil {
		errs = append(errs, cp.managerPort.Release())
		cp.managerPort = nil
	}
	if cp.port != nil {
		_ = cp.port.Release()
	}
	return errors.Join(append(errs, cp.dir.remove())...)
}
