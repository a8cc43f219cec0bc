package machine

import (
	"context"
	_ "embed"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"

	"github.com/fairlead-io/fairlead/e2e/process"
)

// ProxyPort is the one squid listens on, at ProxyAddress.
const ProxyPort = 3128

//go:embed squid.conf
var squidConfig string

// Squid is the proxy in dmz. It lets nobody through who has no password, and no CONNECT to another port
// than 443.
type Squid struct {
	network *Network
}

// StartSquid starts it with one user.
func (n *Network) StartSquid(ctx context.Context, user, password string) (*Squid, error) {
	if err := available("squid", "openssl"); err != nil {
		return nil, err
	}
	hash, err := hashPassword(ctx, password)
	if err != nil {
		return nil, fmt.Errorf("configure squid: %w", err)
	}
	folder := n.path(dir, "squid")
	if err := os.Mkdir(folder, 0o755); err != nil {
		return nil, fmt.Errorf("configure squid: %w", err)
	}
	if err := os.Chmod(folder, 0o777); err != nil { // squid becomes another user
		return nil, fmt.Errorf("configure squid: %w", err)
	}
	for name, content := range map[string]string{
		"squid.conf": squidConfig,
		"users":      user + ":" + hash + "\n",
		"hosts":      InternetAddress + " " + InternetName + "\n",
	} {
		if err := os.WriteFile(n.path(dir, "squid", name), []byte(content), 0o644); err != nil {
			return nil, fmt.Errorf("configure squid: %w", err)
		}
	}
	_, err = n.start(ctx, DMZ, process.Spec{
		Name:  "squid",
		Path:  "squid",
		Args:  []string{"-N", "-f", dir + "/squid/squid.conf"},
		Ready: n.answers(Corp, net.JoinHostPort(ProxyAddress, strconv.Itoa(ProxyPort))),
	})
	return &Squid{n}, err
}

// hashPassword hashes as basic_ncsa_auth understands it. The password is on no command line.
func hashPassword(ctx context.Context, password string) (string, error) {
	out, err := output(ctx, password+"\n", "openssl", "passwd", "-apr1", "-stdin")
	return strings.TrimSpace(string(out)), err
}

// Request is what somebody wanted from squid.
type Request struct {
	User   string // "-" without or with wrong credentials
	Method string
	Target string // a URL; of CONNECT, host and port
	Status int    // 407 asks for credentials
}

// Requests are those that have ended, in that order. A CONNECT ends with its connection, so a client that
// keeps one open is not there yet.
func (s *Squid) Requests() ([]Request, error) {
	log, err := os.ReadFile(s.network.path(dir, "squid", "access.log"))
	if err != nil {
		return nil, fmt.Errorf("read squid's log: %w", err)
	}
	var requests []Request
	for line := range strings.Lines(string(log)) {
		var r Request
		if _, err := fmt.Sscanf(line, "%s %s %s %d\n", &r.User, &r.Method, &r.Target, &r.Status); err != nil {
			return nil, fmt.Errorf("read squid's log: %w: %q", err, line)
		}
		if r.Method != "-" { // somebody connected and said nothing
			requests = append(requests, r)
		}
	}
	return requests, nil
}
