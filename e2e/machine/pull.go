package machine

import (
	"context"
	"fmt"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"k8s.io/apimachinery/pkg/util/wait"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Pull has containerd pull an image as the kubelet has: containerd connects to the registry, with its own
// environment. "ctr images pull" would connect itself, with ours.
func (m *Machine) Pull(ctx context.Context, image string) error {
	ctx, cancel := context.WithTimeout(ctx, pullTimeout)
	defer cancel()
	conn, err := grpc.NewClient("unix://"+m.Path("/run/containerd/containerd.sock"),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return fmt.Errorf("connect to containerd: %w", err)
	}
	defer conn.Close() //nolint:errcheck // it was answered
	images := cri.NewImageServiceClient(conn)
	_ = wait.PollUntilContextCancel(ctx, interval, true, func(ctx context.Context) (bool, error) {
		_, err = images.PullImage(ctx, &cri.PullImageRequest{Image: &cri.ImageSpec{Image: image}}, grpc.WaitForReady(true))
		// containerd answers a moment before it can pull.
		return err == nil || !strings.Contains(err.Error(), "server is not initialized yet"), nil
	})
	if err != nil {
		return fmt.Errorf("pull %s: %w", image, err)
	}
	return nil
}
