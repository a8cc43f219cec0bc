package controlplane

import (
	"context"
	"net"

	"github.com/fairlead-io/fairlead/e2e/process"
)

// StartEtcd starts etcd again after KillEtcd, with the same data. It does nothing when etcd runs.
//
// It listens on a socket in our folder: no port to lose, and nobody else on the machine can
// reach what is, after all, every Secret in the clear. The advertised address is not used by
// anybody but must look like one; port 0 cannot be dialled.
func (cp *ControlPlane) StartEtcd(ctx context.Context) (err error) {
	cp.mu.Lock()
	defer cp.mu.Unlock()
	if cp.etcd != nil {
		return nil
	}
	socket := cp.dir.etcdSocket()
	cp.etcd, err = cp.Run(ctx, process.Spec{
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
	return err
}

// EtcdEndpoint is where a client of etcd finds it.
func (cp *ControlPlane) EtcdEndpoint() string { return "unix://" + cp.dir.etcdSocket() }

// KillEtcd ends it at once, in the middle of whatever it does. What it has answered for is in its files: without fsync,
// only the end of the whole machine could lose that.
func (cp *ControlPlane) KillEtcd() { cp.kill(&cp.etcd) }
