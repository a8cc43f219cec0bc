// Package registry starts a registry for a test, and reads what is pushed to it.
package registry

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/ports"
	"github.com/fairlead-io/fairlead/e2e/process"
	"github.com/fairlead-io/fairlead/e2e/tools"
)

// Start starts Debian's docker-registry, which has nothing, and returns its address.
func Start(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("docker-registry")
	if err != nil {
		controlplanetest.Require(t, fmt.Errorf("%w: %w", tools.ErrUnavailable, err))
	}
	port, err := ports.Reserve()
	controlplanetest.Require(t, err)
	t.Cleanup(func() { _ = port.Release() })
	dir := t.TempDir()
	config := filepath.Join(dir, "config.yml")
	content := fmt.Sprintf("version: 0.1\nstorage: {filesystem: {rootdirectory: %s/images}}\nhttp: {addr: %q}\n", dir, port.Address())
	controlplanetest.Require(t, os.WriteFile(config, []byte(content), 0o600))
	running, err := process.Start(t.Context(), process.Spec{
		Name: "registry", Path: path, Args: []string{"serve", config}, LogFile: filepath.Join(dir, "log"),
		Ready: func(ctx context.Context) error {
			_, err := process.Get(ctx, "http://"+port.Address()+"/v2/")
			return err
		},
	})
	controlplanetest.Require(t, err)
	t.Cleanup(func() {
		if err := running.Stop(); err != nil {
			t.Error(err)
		}
	})
	return port.Address()
}

// Archive is the image in an archive of package images, and its descriptor there.
func Archive(t *testing.T, file string) (v1.ImageIndex, v1.Descriptor) {
	t.Helper()
	dir := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "tar", "--extract", "--file", file, "--directory", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	top, err := layout.ImageIndexFromPath(dir)
	controlplanetest.Require(t, err)
	manifest, err := top.IndexManifest()
	controlplanetest.Require(t, err)
	if len(manifest.Manifests) != 1 {
		t.Fatalf("%s has %d images", file, len(manifest.Manifests))
	}
	index, err := top.ImageIndex(manifest.Manifests[0].Digest)
	controlplanetest.Require(t, err)
	return index, manifest.Manifests[0]
}
