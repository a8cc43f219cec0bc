// Command member asks etcd for its members, as kubeadm does before a control-plane node joins: with the same client, and in
// the same words if that fails.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
)

func main() {
	if err := sync(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "error syncing endpoints with etcd:", err)
		os.Exit(1)
	}
}

func sync(endpoints []string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	client, err := clientv3.New(clientv3.Config{
		Endpoints: endpoints, DialTimeout: 2 * time.Second, Logger: zap.NewNop(),
		DialOptions: []grpc.DialOption{grpc.WithBlock()}, //nolint:staticcheck // as kubeadm
	})
	if err != nil {
		return err
	}
	defer client.Close() //nolint:errcheck // the program ends
	return client.Sync(ctx)
}
