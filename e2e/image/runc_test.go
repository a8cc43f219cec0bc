package image_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/mutate"
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/process"
	"github.com/fairlead-io/fairlead/e2e/tools"
)

// container is what runc needs to know. It is the pod's container as the kubelet and containerd would hand it over, but
// for cgroup limits and the seccomp profile, which is the runtime's own.
type container struct {
	image       string
	spec        corev1.Container
	pod         *corev1.PodSecurityContext
	mounts      map[string]string // path inside: folder outside, read-only
	hostNetwork bool              // for a server that listens on the host's loopback interface
	ready       func(context.Context) error
}

// bundle writes what runc runs, and returns the command line for it.
func (c container) bundle(t *testing.T) (name string, arguments []string) {
	t.Helper()
	runc, err := exec.LookPath("runc")
	if err != nil {
		controlplanetest.Require(t, errors.Join(tools.ErrUnavailable, err))
	}
	dir := t.TempDir()
	unpack(t, c.image, filepath.Join(dir, "rootfs"))
	content, err := json.MarshalIndent(c.config(t), "", "  ")
	controlplanetest.Require(t, err)
	controlplanetest.Require(t, os.WriteFile(filepath.Join(dir, "config.json"), content, 0o600))

	id := fmt.Sprintf("%s-test-%d", c.image, os.Getpid())
	state := []string{"--root", filepath.Join(dir, "state")}
	t.Cleanup(func() { // it outlives a runc that is killed
		_ = exec.Command(runc, append(state, "delete", "--force", id)...).Run()
	})
	return runc, append(state, "run", "--bundle", dir, "--no-new-keyring", id)
}

// start runs it until the test ends.
func (c container) start(t *testing.T) *process.Process {
	t.Helper()
	runc, arguments := c.bundle(t)
	running, err := process.Start(t.Context(), process.Spec{
		Name: c.image, Path: runc, Args: arguments, LogFile: filepath.Join(t.TempDir(), "log"), Ready: c.ready,
	})
	controlplanetest.Require(t, err)
	t.Cleanup(func() { controlplanetest.Require(t, running.Stop()) })
	return running
}

// output returns the output of a program that ends.
func (c container) output(t *testing.T) string {
	t.Helper()
	runc, arguments := c.bundle(t)
	var complaints strings.Builder
	cmd := exec.CommandContext(t.Context(), runc, arguments...)
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", c.image, c.spec.Args, err, complaints.String())
	}
	return string(out)
}

// config is runc's config.json (opencontainers/runtime-spec, config.md).
func (c container) config(t *testing.T) map[string]any {
	t.Helper()
	image, _ := host(t, c.image)
	file, err := image.ConfigFile()
	controlplanetest.Require(t, err)
	var user, group int64 // in our images they are numbers
	if _, err := fmt.Sscanf(file.Config.User, "%d:%d", &user, &group); err != nil {
		t.Fatalf("user %q: %v", file.Config.User, err)
	}
	security := c.spec.SecurityContext
	if c.pod.RunAsUser != nil { // of the pod, else of the image
		user, group = *c.pod.RunAsUser, *c.pod.RunAsGroup
	}
	if security.RunAsUser != nil {
		user, group = *security.RunAsUser, *security.RunAsGroup
	}
	command := c.spec.Command
	if command == nil {
		command = file.Config.Entrypoint
	}
	environment := slices.Clone(file.Config.Env)
	for _, variable := range c.spec.Env {
		environment = append(environment, variable.Name+"="+variable.Value)
	}
	if security.Capabilities == nil || !slices.Equal(security.Capabilities.Drop, []corev1.Capability{"ALL"}) {
		t.Errorf("%s keeps capabilities: %v", c.image, security.Capabilities)
	}
	namespaces := []map[string]string{{"type": "pid"}, {"type": "ipc"}, {"type": "uts"}, {"type": "mount"}}
	if !c.hostNetwork {
		namespaces = append(namespaces, map[string]string{"type": "network"})
	}
	linux := map[string]any{"namespaces": namespaces, "cgroupsPath": "/" + filepath.Base(t.TempDir()) + c.image + strconv.Itoa(os.Getpid())}
	if c.pod.Sysctls != nil {
		sysctls := map[string]string{}
		for _, sysctl := range c.pod.Sysctls {
			sysctls[sysctl.Name] = sysctl.Value
		}
		linux["sysctl"] = sysctls
	}
	return map[string]any{
		"ociVersion": "1.0.2",
		"hostname":   c.image,
		"root":       map[string]any{"path": "rootfs", "readonly": *security.ReadOnlyRootFilesystem},
		"process": map[string]any{
			"user": map[string]int64{"uid": user, "gid": group},
			"args": slices.Concat(command, c.spec.Args),
			"env":  environment,
			"cwd":  file.Config.WorkingDir,
			// No capability in any set.
			"capabilities":    map[string][]string{"bounding": {}, "effective": {}, "inheritable": {}, "permitted": {}, "ambient": {}},
			"noNewPrivileges": !*security.AllowPrivilegeEscalation,
		},
		"mounts": c.volumes(),
		"linux":  linux,
	}
}

func (c container) volumes() []map[string]any {
	volumes := []map[string]any{
		{"destination": "/proc", "type": "proc", "source": "proc"},
		{"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": []string{"nosuid", "mode=755", "size=64k"}},
	}
	for _, path := range slices.Sorted(maps.Keys(c.mounts)) {
		volumes = append(volumes, map[string]any{"destination": path, "type": "bind", "source": c.mounts[path], "options": []string{"bind", "ro"}})
	}
	return volumes
}

// unpack writes the files of an image as a runtime does: by the layers, with their modes, as root's.
func unpack(t *testing.T, name, root string) {
	t.Helper()
	image, _ := host(t, name)
	files := mutate.Extract(image)
	defer files.Close()
	controlplanetest.Require(t, os.Mkdir(root, 0o755))
	cmd := exec.CommandContext(t.Context(), "tar", "--extract", "--preserve-permissions", "--directory", root)
	cmd.Stdin = files
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
