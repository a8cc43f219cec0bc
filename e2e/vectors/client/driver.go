package client

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// driver is a process that asks for one URL after the other. It begins with
//
//	{"version": "3.11.2"}
//
// and for each line {"env": {…}, "url": "…"} it sets exactly these variables,
// asks, and answers {} or {"problem": "…"}.
type driver struct {
	client  *Client
	machine Machine
	version string

	cmd     *exec.Cmd
	stderr  tail
	stdin   io.WriteCloser
	answers chan line
}

type line struct {
	Version string `json:"version"`
	Problem string `json:"problem"`
	err     error
}

func startDriver(c *Client, m Machine) (*driver, error) {
	d := &driver{client: c, machine: m}
	return d, d.start()
}

func (d *driver) start() error {
	argv := d.machine.command(d.client.driver, "")
	d.cmd = exec.Command(argv[0], argv[1:]...)
	d.cmd.Dir = d.machine.Dir
	d.cmd.Env = d.client.environment(d.machine)
	d.cmd.Stderr = &d.stderr
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdin, err := d.cmd.StdinPipe()
	if err != nil {
		return err
	}
	stdout, err := d.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := d.cmd.Start(); err != nil {
		return fmt.Errorf("start the driver of %s: %w", d.client.Name, err)
	}
	d.stdin, d.answers = stdin, make(chan line)
	go read(stdout, d.answers)
	hello, err := d.next(time.Minute)
	d.version = hello.Version
	if err == nil && hello.Version == "" {
		err = errors.New("says no version")
	}
	if err != nil {
		d.close()
		return fmt.Errorf("the driver of %s: %w\n%s", d.client.Name, err, d.stderr)
	}
	return nil
}

// tail keeps the end of a driver's stderr: warnings that matter only when it
// ends.
type tail []byte

func (t *tail) Write(text []byte) (int, error) {
	*t = append(*t, text...)
	if excess := len(*t) - 2000; excess > 0 {
		*t = (*t)[excess:]
	}
	return len(text), nil
}

// read passes lines on. Libraries that print something else are not in the way.
func read(stdout io.Reader, answers chan<- line) {
	defer close(answers)
	scanner := bufio.NewScanner(stdout)
	for scanner.Scan() {
		text := scanner.Text()
		if !strings.HasPrefix(text, "{") {
			continue
		}
		var l line
		l.err = json.Unmarshal([]byte(text), &l)
		answers <- l
	}
}

var errSilent = errors.New("no answer")

func (d *driver) next(limit time.Duration) (line, error) {
	select {
	case answer, open := <-d.answers:
		if !open {
			return line{}, errors.New("has ended")
		}
		return answer, answer.err
	case <-time.After(limit):
		return line{}, errSilent
	}
}

func (d *driver) Version() string { return d.version }

func (d *driver) close() {
	_ = d.stdin.Close()
	_ = syscall.Kill(-d.cmd.Process.Pid, syscall.SIGKILL)
	for range d.answers { // until its end is read
	}
	_ = d.cmd.Wait()
}

func (d *driver) Ask(env map[string]string, url string) (string, error) {
	question, err := json.Marshal(map[string]any{"env": env, "url": url})
	if err != nil {
		return "", err
	}
	if _, err := d.stdin.Write(append(question, '\n')); err != nil {
		return "", fmt.Errorf("ask the driver of %s: %w", d.client.Name, err)
	}
	answer, err := d.next(limit)
	if errors.Is(err, errSilent) {
		d.close()
		return "no answer in " + limit.String(), d.start()
	}
	if err != nil {
		d.close()
		return "", fmt.Errorf("the driver of %s: %w\n%s", d.client.Name, err, d.stderr)
	}
	return answer.Problem, nil
}
