package controlplane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/fairlead-io/fairlead/e2e/process"
)

const pollInterval = 50 * time.Millisecond

// StartAPIServer starts the API server again after StopAPIServer: at the same address, with the same
// certificates and data, so that running clients come back by themselves. It does nothing when the API
// server runs.
func (cp *ControlPlane) StartAPIServer(ctx context.Context) (err error) {
	cp.mu.Lock()
	defer cp.mu.Unlock()
	if cp.apiServer != nil {
		return nil
	}
	policy := cp.options.AuditPolicy
	if policy == nil {
		policy = auditPolicy
	}
	if err := os.WriteFile(cp.dir.auditPolicy(), policy, 0o600); err != nil {
		return fmt.Errorf("write audit policy: %w", err)
	}
	cp.apiServer, err = cp.Run(ctx, process.Spec{
		Name: "kube-apiserver",
		Path: cp.programs.apiServer,
		Args: append(cp.apiServerArgs(), cp.options.APIServerArgs...),
		Ready: func(ctx context.Context) error {
			return cp.clients.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
		},
	})
	return err
}

func (cp *ControlPlane) apiServerArgs() []string {
	return []string{
		"--etcd-servers=unix://" + cp.dir.etcdSocket(),
		"--bind-address=127.0.0.1",
		"--secure-port=" + cp.port.String(),
		// Not the address of the host's default route: there is none in a network namespace. It would
		// only go into the endpoints of the kubernetes Service, which may not be loopback: leave them.
		"--advertise-address=127.0.0.1",
		"--endpoint-reconciler-type=none",
		"--tls-cert-file=" + cp.dir.certificate(servingName),
		"--tls-private-key-file=" + cp.dir.key(servingName),
		"--client-ca-file=" + cp.dir.certificate(clientCA),
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + cp.dir.serviceAccountKey(),
		"--service-account-signing-key-file=" + cp.dir.serviceAccountKey(),
		"--service-cluster-ip-range=10.96.0.0/12",
		"--authorization-mode=RBAC",
		"--allow-privileged=true",
		"--profiling=false",
		"--audit-policy-file=" + cp.dir.auditPolicy(),
		"--audit-log-path=" + cp.dir.auditLog(),
		"--audit-log-mode=blocking",
		// In megabytes: a rotated file would pull the log from under AuditEvents.
		"--audit-log-maxsize=100000",
	}
}

// StopAPIServer leaves everything else running.
func (cp *ControlPlane) StopAPIServer() error { return cp.stop(&cp.apiServer) }

// KillAPIServer ends it at once, in the middle of whatever it does. StartAPIServer starts it again.
func (cp *ControlPlane) KillAPIServer() { cp.kill(&cp.apiServer) }

// FreezeAPIServer stops the API server from answering: the kernel still accepts connections. ThawAPIServer lets it go
// on.
func (cp *ControlPlane) FreezeAPIServer() error { return cp.withAPIServer((*process.Process).Freeze) }

// ThawAPIServer ends FreezeAPIServer.
func (cp *ControlPlane) ThawAPIServer() error { return cp.withAPIServer((*process.Process).Thaw) }

func (cp *ControlPlane) withAPIServer(do func(*process.Process) error) error {
	cp.mu.Lock()
	defer cp.mu.Unlock()
	if cp.apiServer == nil {
		return errors.New("kube-apiserver does not run")
	}
	return do(cp.apiServer)
}

// awaitNamespaces: the API server makes its own namespaces shortly after it calls itself ready.
func (cp *ControlPlane) awaitNamespaces(ctx context.Context, names ...string) error {
	for _, name := range names {
		err := wait.PollUntilContextTimeout(ctx, pollInterval, 2*time.Minute, true, func(ctx context.Context) (bool, error) {
			_, err := cp.clients.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
			if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) { // of its own roles, too
				return false, nil
			}
			return err == nil, err
		})
		if err != nil {
			return fmt.Errorf("await namespace %s: %w", name, err)
		}
	}
	return nil
}
