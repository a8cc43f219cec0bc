package operator_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/machine/machinetest"
	"github.com/fairlead-io/fairlead/e2e/ports"
	"github.com/fairlead-io/fairlead/e2e/process"
)

// companySquid is Debian's squid, which asks for a password. It listens on the loopback interface, where the programs of these
// tests run, too.
type companySquid struct {
	*fixture
	folder, address string
	written         int
}

const squidConfig = `
http_port %[1]s
visible_hostname proxy.corp.example
auth_param basic program /usr/lib/squid/basic_ncsa_auth %[2]s/users
auth_param basic realm corp
auth_param basic credentialsttl 1 second
acl staff proxy_auth REQUIRED
http_access allow staff
http_access deny all
logformat short %%[un %%rm %%ru %%>Hs
access_log stdio:%[2]s/access.log logformat=short
cache_log /dev/null
cache deny all
pid_filename none
netdb_filename none
pinger_enable off
max_filedescriptors 1024
shutdown_lifetime 0 seconds
`

func startSquid(f *fixture, users map[string]string) *companySquid {
	f.Helper()
	folder, err := os.MkdirTemp("", "fairlead-squid-") // squid becomes another user, who must come to it
	f.must(err)
	f.Cleanup(func() { _ = os.RemoveAll(folder) })
	f.must(os.Chmod(folder, 0o777))
	port, err := ports.Reserve()
	f.must(err)
	s := &companySquid{fixture: f, folder: folder, address: port.Address()}
	s.setUsers(users)
	config := filepath.Join(folder, "squid.conf")
	f.must(os.WriteFile(config, fmt.Appendf(nil, squidConfig, s.address, folder), 0o644))
	p, err := process.Start(f.Context(), process.Spec{
		Name: "squid", Path: "/usr/sbin/squid", Args: []string{"-N", "-d1", "-f", config}, LogFile: filepath.Join(folder, "squid.log"),
		Ready: func(ctx context.Context) error {
			conn, err := new(net.Dialer).DialContext(ctx, "tcp", s.address)
			if err == nil {
				_ = conn.Close()
			}
			return err
		},
	})
	f.must(err)
	f.Cleanup(func() { _ = p.Stop() })
	return s
}

// setUsers has these users with their passwords. squid looks at the file again when its time, in seconds, is another one.
func (s *companySquid) setUsers(passwords map[string]string) {
	s.Helper()
	var lines strings.Builder
	for user, password := range passwords {
		hash := exec.CommandContext(s.Context(), "openssl", "passwd", "-apr1", "-stdin")
		hash.Stdin = strings.NewReader(password + "\n")
		out, err := hash.Output()
		s.must(err)
		lines.WriteString(user + ":" + strings.TrimSpace(string(out)) + "\n")
	}
	users := filepath.Join(s.folder, "users")
	s.must(os.WriteFile(users, []byte(lines.String()), 0o644))
	s.written++
	changed := time.Now().Add(time.Duration(s.written) * time.Second)
	s.must(os.Chtimes(users, changed, changed))
}

// url is the proxy's, with these credentials.
func (s *companySquid) url(user, password string) string {
	return fmt.Sprintf("http://%s:%s@%s", user, password, s.address)
}

// awaitRefused awaits that somebody was answered 407 at least so often, and returns how often: squid notes an answer after it
// was given.
func (s *companySquid) awaitRefused(user string, atLeast int) (times int) {
	s.Helper()
	controlplanetest.Await(s, fmt.Sprintf("squid's note of %d answers 407", atLeast), func(context.Context) (bool, error) {
		log := controlplanetest.ReadFile(s, filepath.Join(s.folder, "access.log"))
		times = len(regexp.MustCompile("(?m)^"+user+" .* 407$").FindAll(log, -1))
		return controlplanetest.Holds(times >= atLeast, "there are %d", times)
	})
	return times
}

// listens is a destination that takes connections.
func listens(f *fixture) string {
	f.Helper()
	listener, err := new(net.ListenConfig).Listen(f.Context(), "tcp", "127.0.0.1:0")
	f.must(err)
	machinetest.Accept(f, listener, func(net.Conn) {})
	return listener.Addr().String()
}
