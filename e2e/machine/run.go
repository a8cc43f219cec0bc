package machine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/wait"
)

// Run runs a command in the machine as root, with an environment that has a PATH and nothing else, and
// returns what it prints. The error holds what it complains.
func (m *Machine) Run(ctx context.Context, command ...string) (string, error) {
	out, err := output(ctx, "", nil, append([]string{
		"nsenter", "--target", strconv.Itoa(m.leader), "--all", "env", "-i", "--chdir=/", "PATH=" + path,
	}, command...)...)
	if err != nil {
		return string(out), fmt.Errorf("%s in the machine: %w", command[0], err)
	}
	return string(out), nil
}

// ReadFile reads a file of the running machine. A link that begins with a slash is not followed.
func (m *Machine) ReadFile(name string) ([]byte, error) {
	inside, err := os.OpenRoot(m.Path("/"))
	if err != nil {
		return nil, err
	}
	defer inside.Close() //nolint:errcheck // it was read
	return inside.ReadFile(strings.TrimPrefix(name, "/"))
}

// WriteFile writes a file of the running machine, see ReadFile; its folder is there.
func (m *Machine) WriteFile(name string, content []byte, mode os.FileMode) error {
	inside, err := os.OpenRoot(m.Path("/"))
	if err != nil {
		return err
	}
	defer inside.Close() //nolint:errcheck // WriteFile has closed the file
	return inside.WriteFile(strings.TrimPrefix(name, "/"), content, mode)
}

// Path is where this process sees a file of the running machine, mounts in it included. It is gone with the machine.
func (m *Machine) Path(name string) string { return fmt.Sprintf("/proc/%d/root%s", m.leader, name) }

// CloudInit is how cloud-init went.
type CloudInit struct {
	Errors []string // of its modules; a command of runcmd that fails is one
}

// AwaitCloudInit returns when cloud-init has finished, well or not.
func (m *Machine) AwaitCloudInit(ctx context.Context) (CloudInit, error) {
	var result struct{ V1 CloudInit }
	err := m.awaitReport(ctx, "result.json", &result, func() bool { return true })
	return result.V1, err
}

// AwaitFiles returns when cloud-init has written the files of its user data, and ends it there. What comes
// later would parse all of the user data twice more.
func (m *Machine) AwaitFiles(ctx context.Context) (CloudInit, error) {
	var status struct {
		V1 struct {
			Init struct {
				Finished float64
				Errors   []string
			}
		}
	}
	err := m.awaitReport(ctx, "status.json", &status, func() bool { return status.V1.Init.Finished > 0 })
	if err == nil {
		_, err = m.Run(ctx, "systemctl", "stop", "cloud-config.service", "cloud-final.service")
	}
	return CloudInit{Errors: status.V1.Init.Errors}, err
}

// awaitReport reads what cloud-init says of itself, until that is there and done.
func (m *Machine) awaitReport(ctx context.Context, name string, report any, done func() bool) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, interval, cloudInitTimeout, true, func(context.Context) (bool, error) {
		select {
		case <-m.process.Done():
			return false, errors.New("the machine is off")
		default:
		}
		var content []byte
		if content, last = m.ReadFile("/run/cloud-init/" + name); last == nil {
			last = json.Unmarshal(content, report)
		}
		return last == nil && done(), nil
	})
	if err != nil {
		return fmt.Errorf("await cloud-init: %w (%w)", err, last)
	}
	return nil
}
