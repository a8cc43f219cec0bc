package controlplane

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
)

// directory holds everything that one control plane writes, at fixed names.
type directory string

const directoryPrefix = "fairlead-e2e-" // short: see maxSocketPath

func (d directory) file(name string) string     { return filepath.Join(string(d), name) }
func (d directory) log(program string) string   { return d.file(program + ".log") }
func (d directory) pid(program string) string   { return d.file(program + ".pid") }
func (d directory) adminKubeconfig() string     { return d.file("admin.kubeconfig") }
func (d directory) auditLog() string            { return d.file("audit.log") }
func (d directory) auditPolicy() string         { return d.file("audit-policy.yaml") }
func (d directory) certificate(n string) string { return d.file(n + ".crt") }
func (d directory) key(n string) string         { return d.file(n + ".key") }
func (d directory) serviceAccountKey() string   { return d.key("service-account") }
func (d directory) remove() error               { return os.RemoveAll(string(d)) }

// maxSocketPath is the longest path of a socket on every Unix (104 on macOS, 108 on Linux).
const maxSocketPath = 103

func (d directory) etcdSocket() string { return d.file("etcd.sock") }

func (d directory) checkSocketPath() error {
	if len(d.etcdSocket()) > maxSocketPath {
		return fmt.Errorf("the folder %s has too long a path for a socket in it", d)
	}
	return nil
}

// newDirectory makes the folder. Its name among the temporary files has the id of this process, so that
// the leavings of a killed one can be told; one that is kept running has none.
func newDirectory(options Options) (directory, error) {
	if options.Dir != "" {
		return givenDirectory(options.Dir)
	}
	owner := strconv.Itoa(os.Getpid())
	if options.KeepRunning {
		owner = "kept"
	}
	sweep(os.TempDir())
	path, err := os.MkdirTemp("", directoryPrefix+owner+"-")
	if err != nil {
		return "", fmt.Errorf("make the control plane's folder: %w", err)
	}
	if err := directory(path).checkSocketPath(); err != nil {
		return "", errors.Join(err, directory(path).remove())
	}
	return directory(path), nil
}

// givenDirectory refuses a folder that has something in it: Stop removes the whole of it.
func givenDirectory(path string) (directory, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("find the control plane's folder: %w", err)
	}
	if err := directory(path).checkSocketPath(); err != nil {
		return "", err
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return "", fmt.Errorf("make the control plane's folder: %w", err)
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return "", fmt.Errorf("look into the control plane's folder: %w", err)
	}
	if len(entries) > 0 {
		return "", fmt.Errorf("the folder %s is not empty, and Stop would remove what is in it", path)
	}
	return directory(path), nil
}

var ownedName = regexp.MustCompile(`^` + directoryPrefix + `([0-9]+)-`)

// sweep removes the folders of test processes that were killed before they could. Their programs died
// with them. What cannot be removed is not ours to worry about.
func sweep(temp string) {
	entries, err := os.ReadDir(temp)
	if err != nil {
		return
	}
	for _, entry := range entries {
		match := ownedName.FindStringSubmatch(entry.Name())
		if match == nil {
			continue
		}
		pid, err := strconv.Atoi(match[1])
		if err == nil && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			_ = os.RemoveAll(filepath.Join(temp, entry.Name()))
		}
	}
}
