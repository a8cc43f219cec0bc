package machine

import (
	"context"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Pull has containerd pull an image as the kubelet has: containerd connects to the registry, with its own
// environment. "ctr images pull" would connect itself, with ours.
func (m *Machine) Pull(ctx context.Context, image string) error {
	ctx, cancel := context.WithTimeout(ctx, pullTimeout)
	defer cancel()
	conn, err := grpc.NewClient("unix://"+m.path("/run/containerd/containerd.sock"),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return fmt.Errorf("connect to containerd: %w", err)
	}
	defer conn.Close() //nolint:errcheck // it was answered
	_, err = cri.NewImageServiceClient(conn).PullImage(ctx,
		&cri.PullImageRequest{Image: &cri.ImageSpec{Image: image}}, grpc.WaitForReady(true))
	if err != nil {
		return fmt.Errorf("pull %s: %w", image, err)
	}
	return nil
}
