package controlplane

import (
	"context"
	"fmt"
	"net"

	"github.com/fairlead-io/fairlead/e2e/process"
)

// startEtcd listens on a socket in our folder: no port to lose, and nobody else on the machine can
// reach what is, after all, every Secret in the clear. The advertised address is not used by
// anybody but must look like one; port 0 cannot be dialled.
func (cp *ControlPlane) startEtcd(ctx context.Context) error {
	socket := cp.dir.etcdSocket()
	started, err := cp.run(ctx, process.Spec{
		Name: "etcd",
		Path: cp.programs.etcd,
		Args: []string{
			"--data-dir=" + cp.dir.file("etcd"),
			"--listen-client-urls=unix://" + socket,
			"--advertise-client-urls=http://127.0.0.1:0",
			"--listen-peer-urls=http://127.0.0.1:0",
			"--unsafe-no-fsync",
			"--log-level=warn",
		},
		Ready: func(ctx context.Context) error {
			conn, err := new(net.Dialer).DialContext(ctx, "unix", socket)
			if err != nil {
				return err
			}
			return conn.Close()
		},
	})
	if err != nil {
		return err
	}
	cp.mu.Lock()
	defer cp.mu.Unlock()
	cp.etcd = started
	return nil
}

func (cp *ControlPlane) stopEtcd() error {
	cp.mu.Lock()
	defer cp.mu.Unlock()
	if cp.etcd == nil {
		return nil
	}
	if err := cp.etcd.Stop(); err != nil {
		return fmt.Errorf("stop etcd: %w", err)
	}
	cp.etcd = nil
	return nil
}
