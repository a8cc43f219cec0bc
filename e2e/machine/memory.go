package machine

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/fairlead-io/fairlead/e2e/process"
	"github.com/fairlead-io/fairlead/e2e/tools"
)

// Memory is a control group with a limit of memory, as a container has one.
type Memory struct {
	folder string
	names  memoryFiles
}

// memoryFiles: the two versions of control groups name them differently.
type memoryFiles struct {
	limit, swap, noSwap, peak, events string // noSwap: the value of swap without any, if not the limit
}

var (
	memory1 = memoryFiles{"memory.limit_in_bytes", "memory.memsw.limit_in_bytes", "", "memory.max_usage_in_bytes", "memory.oom_control"}
	memory2 = memoryFiles{"memory.max", "memory.swap.max", "0", "memory.peak", "memory.events"}
)

// NewMemory makes a control group with so many bytes. Whoever is in it when they are used up is killed. It goes with the
// network. The error holds tools.ErrUnavailable where there is no controller of memory.
func (n *Network) NewMemory(bytes int64) (*Memory, error) {
	m := &Memory{folder: filepath.Join("/sys/fs/cgroup/memory", n.cgroup()), names: memory1}
	if _, err := os.Stat("/sys/fs/cgroup/memory"); err != nil {
		m = &Memory{folder: filepath.Join("/sys/fs/cgroup", n.cgroup()+"-memory"), names: memory2}
		if err := os.WriteFile("/sys/fs/cgroup/cgroup.subtree_control", []byte("+memory"), 0); err != nil {
			return nil, fmt.Errorf("%w: a control group with a limit of memory: %w", tools.ErrUnavailable, err)
		}
	}
	if err := os.Mkdir(m.folder, 0o755); err != nil {
		return nil, err
	}
	limit := strconv.FormatInt(bytes, 10)
	if err := os.WriteFile(filepath.Join(m.folder, m.names.limit), []byte(limit), 0); err != nil {
		return nil, err
	}
	_ = os.WriteFile(filepath.Join(m.folder, m.names.swap), []byte(cmp.Or(m.names.noSwap, limit)), 0) // a kernel may have none
	return m, nil
}

// Within returns the spec of a program so that it runs in the group.
func (m *Memory) Within(spec process.Spec) process.Spec {
	spec.Args = append([]string{"-c", `echo 0 >` + filepath.Join(m.folder, "cgroup.procs") + ` && exec "$0" "$@"`, spec.Path}, spec.Args...)
	spec.Path = "/bin/sh"
	return spec
}

// Peak returns the peak of memory of the processes in the group, in bytes, with the kernel's cache of files for them.
// killed is how many of them were killed.
func (m *Memory) Peak() (bytes int64, killed int, err error) {
	text, err := os.ReadFile(filepath.Join(m.folder, m.names.peak))
	if err != nil {
		return 0, 0, err
	}
	events, err := os.ReadFile(filepath.Join(m.folder, m.names.events))
	if err != nil {
		return 0, 0, err
	}
	bytes, err = strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if found := regexp.MustCompile(`(?m)^oom_kill (\d+)$`).FindSubmatch(events); found != nil {
		killed, _ = strconv.Atoi(string(found[1])) // digits
	} else {
		err = errors.Join(err, fmt.Errorf("%s has no oom_kill", m.names.events))
	}
	return bytes, killed, err
}
