package machine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"

	"golang.org/x/sys/unix"
)

// CheckClosed checks the claim of a test that something goes through squid. From corp there must be no route to
// the hub, and no process there may know its name. The error says what is open.
func (n *Network) CheckClosed(ctx context.Context) error {
	conn, err := n.Dial(ctx, Corp, net.JoinHostPort(HubAddress, "443"))
	if err == nil {
		err = errors.Join(errors.New("it answers"), conn.Close())
	}
	if !errors.Is(err, unix.ENETUNREACH) {
		return fmt.Errorf("%s seems to be within reach of corp: %w", HubAddress, err)
	}
	// 2: it is in none of the sources of names (getent(1), "EXIT STATUS").
	var exit *exec.ExitError
	if _, err := n.Run(ctx, Corp, nil, "getent", "ahosts", HubName); !errors.As(err, &exit) || exit.ExitCode() != 2 {
		return fmt.Errorf("a process in corp resolves %s: %w", HubName, cmp.Or(err, errors.New("no error")))
	}
	return nil
}
