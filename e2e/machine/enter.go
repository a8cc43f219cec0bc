package machine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fairlead-io/fairlead/e2e/process"
)

// path is the PATH of programs in the networks and in the machine.
const path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// Dial connects to an address, not a name, from one of the networks.
func (n *Network) Dial(ctx context.Context, from Namespace, address string) (net.Conn, error) {
	var conn net.Conn
	err := n.within(from, func() (err error) {
		conn, err = new(net.Dialer).DialContext(ctx, "tcp", address)
		return err
	})
	return conn, err
}

// Listen listens on an address, not a name, in one of the networks.
func (n *Network) Listen(ctx context.Context, where Namespace, address string) (net.Listener, error) {
	var listener net.Listener
	err := n.within(where, func() (err error) {
		listener, err = new(net.ListenConfig).Listen(ctx, "tcp", address)
		return err
	})
	return listener, err
}

// Run runs a program of this machine to its end in one of the networks, with this environment, a PATH if that has
// none, and nothing more. It returns what the program prints; the error holds what it complains.
func (n *Network) Run(ctx context.Context, where Namespace, environment []string, command ...string) ([]byte, error) {
	if len(command) == 0 {
		return nil, errors.New("there is no command to run")
	}
	environment = append([]string{"PATH=" + path}, environment...) // of two, the last counts
	out, err := output(ctx, "", environment, append([]string{
		"nsenter", "--target", strconv.Itoa(n.init), "--mount", "--pid", "--net=" + n.namespace(where),
	}, command...)...)
	if err != nil {
		return out, fmt.Errorf("%s in %s: %w", command[0], where, err)
	}
	return out, nil
}

// Start runs a program of this machine in one of the networks until that ends, or it is stopped. Its environment is
// as Run's, its folder one of the network's mount namespace, and its log there too unless the spec has one.
func (n *Network) Start(ctx context.Context, where Namespace, spec process.Spec) (*process.Process, error) {
	return n.StartIn(ctx, where, nil, spec)
}

// StartIn does the same with mounts of its own, see Mounts; nil are the network's.
func (n *Network) StartIn(ctx context.Context, where Namespace, mounts *os.File, spec process.Spec) (*process.Process, error) {
	spec.OnlyEnv, spec.Env = true, append([]string{"PATH=" + path}, spec.Env...)
	nsenter, err := exec.LookPath("nsenter") // env would look where the program's PATH says
	if err != nil {
		return nil, err
	}
	// The whole group gets a signal. nsenter outlives it: with its end, process ends those that are left.
	const signals = "-signal=HUP,INT,TERM"
	args := []string{"--ignore" + signals, nsenter, "--target", strconv.Itoa(n.init), "--pid", "--net=" + n.namespace(where)}
	if mounts == nil {
		args = append(args, "--mount")
	} else {
		args = append(args, fmt.Sprintf("--mount=/proc/%d/fd/%d", os.Getpid(), mounts.Fd()))
	}
	if spec.Dir != "" {
		args = append(args, "--wdns="+spec.Dir)
	}
	args = append(args, "/usr/bin/env", "--default"+signals, spec.Path)
	spec.Path, spec.Args, spec.Dir = "/usr/bin/env", append(args, spec.Args...), ""
	if spec.LogFile == "" {
		spec.LogFile = n.Path(Dir, spec.Name+".log")
	}
	return process.Start(ctx, spec)
}

// within makes a socket in a network. It stays there, wherever it is used.
func (n *Network) within(where Namespace, socket func() error) error {
	return onThread(func() error {
		namespace, err := os.Open(n.namespace(where))
		if err != nil {
			return fmt.Errorf("open the network %s: %w", where, err)
		}
		defer namespace.Close()
		if err := unix.Setns(int(namespace.Fd()), unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("enter the network %s: %w", where, err)
		}
		return socket()
	})
}

// onThread runs something on a thread of its own, whose namespaces it may change.
func onThread(do func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		done <- do()
	}()
	return <-done
}

// namespace is the file of a network.
func (n *Network) namespace(where Namespace) string { return n.Path("/run/netns", string(where)) }

// Answers is a condition: somebody listens on the address.
func (n *Network) Answers(from Namespace, address string) func(context.Context) error {
	return func(ctx context.Context) error {
		conn, err := n.Dial(ctx, from, address)
		if err != nil {
			return err
		}
		return conn.Close()
	}
}

// output returns the output of a command. Its complaints are in the error. Without an environment it has this
// process's.
func output(ctx context.Context, stdin string, environment []string, command ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Env = environment
	var stderr bytes.Buffer
	cmd.Stdin, cmd.Stderr = strings.NewReader(stdin), &stderr
	cmd.WaitDelay = time.Second // nsenter's child may still hold the pipes
	out, err := cmd.Output()
	if err != nil {
		return out, fmt.Errorf("%w: %s", err, bytes.TrimSpace(stderr.Bytes()))
	}
	return out, nil
}

// OnlyChild is the process that another one has started: of a program in a network, which nsenter starts, the program.
func OnlyChild(parent int) (int, error) {
	children, err := os.ReadFile(fmt.Sprintf("/proc/%[1]d/task/%[1]d/children", parent))
	if err != nil {
		return 0, fmt.Errorf("find the child of process %d: %w", parent, err)
	}
	child, err := strconv.Atoi(strings.TrimSpace(string(children)))
	if err != nil {
		return 0, fmt.Errorf("process %d has not one child: %q", parent, children)
	}
	return child, nil
}
