package controlplane

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"k8s.io/client-go/tools/clientcmd"
)

const keptGrace = 10 * time.Second

// Kept is a control plane that another process started with KeepRunning. What this process starts
// beside it ends with this process.
func Kept(dir string) (*ControlPlane, error) {
	cp := &ControlPlane{dir: directory(dir)}
	var err error
	if cp.admin, err = clientcmd.BuildConfigFromFlags("", cp.AdminKubeconfig()); err != nil {
		return nil, fmt.Errorf("read the kubeconfig of the control plane: %w", err)
	}
	cp.admin.QPS = -1 // see anonymous
	return cp, cp.connect()
}

// StopKept ends a control plane that another process started with KeepRunning, and removes its folder.
func StopKept(dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return fmt.Errorf("find the control plane's folder: %w", err)
	}
	if _, err := os.Stat(directory(dir).serviceAccountKey()); err != nil {
		return fmt.Errorf("%s is not the folder of a control plane: %w", dir, err)
	}
	programs, err := notedPrograms(directory(dir))
	if err != nil {
		return err
	}
	for _, program := range programs {
		if err := stopNoted(directory(dir), program); err != nil {
			return fmt.Errorf("stop %s: %w", program, err)
		}
	}
	return directory(dir).remove()
}

// notedPrograms are those of a kept control plane, in the order in which to end them: those beside it
// first, etcd last, which the others would miss.
func notedPrograms(dir directory) ([]string, error) {
	ours := []string{"kube-controller-manager", "kube-apiserver", "etcd"}
	files, err := filepath.Glob(dir.pid("*"))
	if err != nil {
		return nil, err
	}
	var beside []string
	for _, file := range files {
		if name := strings.TrimSuffix(filepath.Base(file), ".pid"); !slices.Contains(ours, name) {
			beside = append(beside, name)
		}
	}
	return append(beside, ours...), nil
}

func stopNoted(dir directory, program string) error {
	noted, err := os.ReadFile(dir.pid(program))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(noted)))
	if err != nil {
		return fmt.Errorf("read its process id: %w", err)
	}
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		if !runsIn(dir, pid) {
			return nil
		}
		_ = syscall.Kill(pid, signal)
		// It is not our child: there is nothing to wait on but its entry in /proc.
		for end := time.Now().Add(keptGrace); runsIn(dir, pid) && time.Now().Before(end); {
			time.Sleep(pollInterval)
		}
	}
	if !runsIn(dir, pid) {
		return nil
	}
	return fmt.Errorf("process %d survives SIGKILL", pid)
}

// runsIn tells our process from a later one of the same number by its working directory, which is the
// control plane's folder. A zombie has none.
func runsIn(dir directory, pid int) bool {
	cwd, err := os.Readlink(filepath.Join("/proc", strconv.Itoa(pid), "cwd"))
	resolved, _ := filepath.EvalSymlinks(string(dir))
	return err == nil && slices.Contains([]string{string(dir), resolved}, cwd)
}
