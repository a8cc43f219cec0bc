package client

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// limit is how long a client may take for a question; it is killed then.
const limit = 20 * time.Second

// Runner asks a client. It is not safe for concurrent use.
type Runner interface {
	Version() string
	// Ask makes the client ask for a URL with these variables (and no other
	// proxy variables) in its environment. The text is what the client says
	// went wrong; whether it was reached at all is the lab's to say.
	Ask(env map[string]string, url string) (problem string, err error)
}

//go:embed all:drivers
var drivers embed.FS

// Start readies the client for questions.
func (c *Client) Start(m Machine) (Runner, error) {
	files, err := fs.Sub(drivers, "drivers")
	if err == nil {
		err = os.CopyFS(m.Dir, files)
	}
	if err != nil {
		return nil, fmt.Errorf("write the drivers: %w", err)
	}
	if c.driver != nil {
		return startDriver(c, m)
	}
	version, err := c.askVersion(m)
	return &once{c, m, version}, err
}

func (c *Client) askVersion(m Machine) (string, error) {
	command, pattern := c.version, c.pattern
	if command == nil {
		command, pattern = []string{c.Program, "--version"}, number
	}
	argv := m.command(command, "")
	if c.module != (module{}) {
		return c.module.built(argv[0])
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = c.environment(m)
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("ask %s for its version: %w", c.Name, err)
	}
	version := pattern.FindString(string(out))
	if version == "" {
		return "", fmt.Errorf("%s does not say its version: %s", c.Name, out)
	}
	return version, nil
}

// once runs a process for each question.
type once struct {
	client  *Client
	machine Machine
	version string
}

func (o *once) Version() string { return o.version }

func (o *once) Ask(env map[string]string, url string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	argv := o.machine.command(o.client.once, url)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = o.machine.Dir
	cmd.Env = o.client.environment(o.machine)
	for name, value := range env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return "", nil
	case ctx.Err() != nil:
		return "no answer in " + limit.String(), nil
	case errors.As(err, &exit):
		return fmt.Sprintf("%s: %s", err, lastLine(out)), nil
	}
	return "", fmt.Errorf("run %s: %w", o.client.Name, err)
}

func lastLine(out []byte) string {
	out = bytes.TrimSpace(out)
	return string(out[bytes.LastIndexByte(out, '\n')+1:])
}
