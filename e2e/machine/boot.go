package machine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/fairlead-io/fairlead/e2e/process"
)

// On an idle machine a boot takes a second. These are for one with much else to do: nothing here hangs for good.
const (
	interval         = 50 * time.Millisecond
	bootTimeout      = 2 * time.Minute
	powerOffTimeout  = 2 * time.Minute // systemd gives a unit 90 seconds to stop
	cloudInitTimeout = 10 * time.Minute
	pullTimeout      = 2 * time.Minute
)

// Options of a machine.
type Options struct {
	// UserData is the input of cloud-init, byte for byte: the bootstrap data of Cluster API, for instance.
	UserData []byte
	// Programs are files here that the machine has in /usr/local/bin from the start. They must not need
	// libraries that it does not have.
	Programs []string
	// Baked are files here that the machine's image has at these paths, for everybody to execute.
	Baked map[string]string
	// Progress is told what takes long.
	Progress io.Writer
}

// Machine has been booted in corp.
type Machine struct {
	network *Network
	process *process.Process // systemd-nspawn
	leader  int              // its systemd
}

const (
	disk = Dir + "/disk" // in memory: what the machine has changed
	root = Dir + "/root" // what it sees
)

// Boot starts a machine, the only one of its network at a time, and returns when its systemd answers.
// cloud-init is then still at work. The error holds tools.ErrUnavailable where no machine can be had.
func (n *Network) Boot(ctx context.Context, options Options) (*Machine, error) {
	if err := available("systemd-nspawn"); err != nil {
		return nil, err
	}
	if options.Progress == nil {
		options.Progress = io.Discard
	}
	debian, err := rootFS(ctx, options.Progress)
	if err != nil {
		return nil, err
	}
	m := &Machine{network: n}
	err = m.makeDisk(ctx, debian, options)
	if err == nil {
		err = m.start(ctx, options.Programs)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("boot a machine: %w", err), m.Kill())
	}
	return m, nil
}

// makeDisk lays what the machine will change over the Debian that all share.
func (m *Machine) makeDisk(ctx context.Context, debian string, options Options) error {
	const script = `mkdir "$1" "$2" && mount -t tmpfs tmpfs "$1" && mkdir "$1/upper" "$1/work" &&
		mount -t overlay overlay -o "lowerdir=$3,upperdir=$1/upper,workdir=$1/work" "$2"`
	if _, err := m.network.Run(ctx, Corp, nil, "sh", "-c", script, "sh", disk, root, debian); err != nil {
		return fmt.Errorf("make its disk: %w", err)
	}
	inside, err := os.OpenRoot(m.network.Path(root))
	if err != nil {
		return err
	}
	defer inside.Close() //nolint:errcheck // nothing is written through it any more
	if err := writeSeed(inside, options); err != nil {
		return fmt.Errorf("write the seed: %w", err)
	}
	if err := bake(inside, options.Baked); err != nil {
		return fmt.Errorf("bake the image: %w", err)
	}
	return nil
}

func bake(root *os.Root, files map[string]string) error {
	for path, from := range files {
		content, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		inside := strings.TrimPrefix(path, "/")
		if err := root.MkdirAll(filepath.Dir(inside), 0o755); err != nil {
			return err
		}
		if err := root.WriteFile(inside, content, 0o755); err != nil {
			return err
		}
	}
	return nil
}

func (m *Machine) start(ctx context.Context, programs []string) error {
	args := []string{
		"-c", joinCgroups + ` exec "$@"`, "sh", m.network.cgroup(),
		"systemd-nspawn", "--directory=" + root, "--boot", "--console=pipe", "--register=no", "--keep-unit",
		"--network-namespace-path=/run/netns/" + string(Corp), "--resolv-conf=off", "--capability=all",
		"--tmpfs=/var/lib/containerd", // its overlays cannot lie on another
	}
	for _, program := range programs {
		args = append(args, "--bind-ro="+program+":/usr/local/bin/"+filepath.Base(program))
	}
	var err error
	m.process, err = m.network.Start(ctx, Corp, process.Spec{Name: "machine", Path: "sh", Args: args})
	if err != nil {
		return err
	}
	return m.awaitSystemd(ctx)
}

// awaitSystemd returns when systemd takes orders.
func (m *Machine) awaitSystemd(ctx context.Context) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, interval, bootTimeout, true, func(ctx context.Context) (bool, error) {
		select {
		case <-m.process.Done():
			return false, errors.New("systemd-nspawn has ended")
		default:
		}
		last = m.findLeader()
		if last == nil {
			_, last = m.Run(ctx, "systemctl", "show", "--property=Version")
		}
		return last == nil, nil
	})
	if err != nil {
		said, _ := os.ReadFile(m.process.LogFile())
		return fmt.Errorf("await systemd: %w (%w)\n%s", err, last, said)
	}
	return nil
}

// findLeader finds the process that is number 1 in the machine: the child of systemd-nspawn, which is the
// child of nsenter.
func (m *Machine) findLeader() error {
	nspawn, err := OnlyChild(m.process.PID())
	if err != nil {
		return err
	}
	leader, err := OnlyChild(nspawn)
	if err != nil {
		return err
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", leader))
	if err != nil {
		return err
	}
	if !firstOfItsNamespace.Match(status) {
		return errors.New("systemd-nspawn is at work")
	}
	m.leader = leader
	return nil
}

var firstOfItsNamespace = regexp.MustCompile(`(?m)^NSpid:.*\t1$`)

// powerOff is the signal that starts poweroff.target, SIGRTMIN+4 (systemd(1), "Signals"). A command that asks
// for it could be ended by the poweroff before it reports success.
const powerOff = syscall.Signal(34 + 4)

// PowerOff shuts the machine down as its button does. Its disk is gone then.
func (m *Machine) PowerOff(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, powerOffTimeout)
	defer cancel()
	m.signal(powerOff)
	select {
	case <-m.process.Done():
		return m.forget()
	case <-ctx.Done():
		return errors.Join(fmt.Errorf("power off: %w", ctx.Err()), m.Kill())
	}
}

// Kill pulls the plug. The disk is gone then.
func (m *Machine) Kill() error {
	if m.process == nil {
		return m.forget()
	}
	if m.leader != 0 {
		m.signal(syscall.SIGKILL) // the kernel ends what it has started, then systemd-nspawn ends
		select {
		case <-m.process.Done():
		case <-time.After(bootTimeout):
		}
	}
	m.process.Kill()
	return m.forget()
}

// signal reaches systemd, unless the machine is off: its number may be somebody else's then.
func (m *Machine) signal(s syscall.Signal) {
	select {
	case <-m.process.Done():
	default:
		_ = syscall.Kill(m.leader, s)
	}
}

// forget removes the remains of a machine that is off.
func (m *Machine) forget() error {
	const script = `for folder in "$@"; do
		! mountpoint --quiet "$folder" || umount --lazy "$folder"
		[ ! -e "$folder" ] || rmdir "$folder"
	done`
	_, err := m.network.Run(context.Background(), Corp, nil, "sh", "-e", "-c", script, "sh", root, disk)
	return errors.Join(err, m.network.removeCgroups())
}
