package machine

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"

	"golang.org/x/sys/unix"
)

// CheckClosed is what a test asks before it says that something goes through squid: from corp there is no route to
// the hub, and nobody knows its name. That holds for a process there too. The error says what is open.
func (n *Network) CheckClosed(ctx context.Context) error {
	conn, err := n.Dial(ctx, Corp, net.JoinHostPort(HubAddress, "443"))
	if err == nil {
		err = errors.Join(errors.New("it answers"), conn.Close())
	}
	if !errors.Is(err, unix.ENETUNREACH) {
		return fmt.Errorf("%s seems to be within reach of corp: %w", HubAddress, err)
	}
	const connect = "exec 3<>/dev/tcp/" + HubAddress + "/443"
	if _, err := n.Run(ctx, Corp, nil, "bash", "-c", connect); !exits(err, 1) {
		return fmt.Errorf("a process in corp connects to %s: %w", HubAddress, orNone(err))
	}
	// 2: it is in none of the sources of names (getent(1), "EXIT STATUS").
	if _, err := n.Run(ctx, Corp, nil, "getent", "ahosts", HubName); !exits(err, 2) {
		return fmt.Errorf("a process in corp resolves %s: %w", HubName, orNone(err))
	}
	return nil
}

func exits(err error, code int) bool {
	var exit *exec.ExitError
	return errors.As(err, &exit) && exit.ExitCode() == code
}

func orNone(err error) error {
	if err == nil {
		return errors.New("no error")
	}
	return err
}
