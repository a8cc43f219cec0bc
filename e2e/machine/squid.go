package machine

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"math"
	"net"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/e2e/process"
)

// The ports squid listens on, at ProxyAddress. The second one is for TLS.
const (
	ProxyPort    = 3128
	ProxyTLSPort = 3129
)

//go:embed squid.conf
var squidConfig string

// SquidOptions say whom squid lets through, where to, and how long.
type SquidOptions struct {
	// User and Password are its one user's.
	User, Password string
	// Ports a CONNECT may go to; 443 if there are none.
	Ports []int
	// ReadTimeout ends a tunnel that is idle, see read_timeout in squid.conf; whole seconds, squid's own 15 minutes
	// if not set.
	ReadTimeout time.Duration
	// Hosts are addresses of names that squid alone resolves, beside InternetName and HubName.
	Hosts map[string]string
	// TLS makes it listen on ProxyTLSPort too, with a certificate for ProxyAddress and ProxyName.
	TLS *Authority
	// Bump makes it decrypt whatever goes through a tunnel, and sign for every name with this authority (ssl-bump). It is
	// Debian's squid-openssl then. Hubs is the authority by which it knows them.
	Bump, Hubs *Authority
	// NTLM makes it ask for that alone. Nobody comes through.
	NTLM bool
	// Trusted is a network that needs no password. Everybody may upgrade to WebSocket then.
	Trusted string
	// Starts makes it log each request when it begins, too: it logs a CONNECT at its end. See [Squid.Starts].
	Starts bool
	// Fast is squid for measurements. It logs no request, and has 16,384 descriptors, as many as a relay takes
	// connections. It remembers passwords for two hours, squid's default. The tests' one second makes its list of
	// remembered passwords grow, and a longer list makes it slower.
	Fast bool
}

// Squid is the proxy in dmz. It lets nobody through who has no password, and a CONNECT to no other port than it is
// told.
type Squid struct {
	network *Network
	user    string
	written int // how often its user was
	process *process.Process
	program string
}

// StartSquid starts it, the only one of its network.
func (n *Network) StartSquid(ctx context.Context, options SquidOptions) (*Squid, error) {
	if err := available("squid", "openssl"); err != nil {
		return nil, err
	}
	s := &Squid{network: n, user: options.User, program: "squid"}
	if options.Bump != nil {
		if err := s.bumps(ctx, options); err != nil {
			return nil, fmt.Errorf("get a squid that decrypts: %w", err)
		}
	}
	if err := s.configure(ctx, options); err != nil {
		return nil, fmt.Errorf("configure squid: %w", err)
	}
	return s, s.Start(ctx)
}

// Start starts it again, as it was and with the same log, after a Stop or Kill.
func (s *Squid) Start(ctx context.Context) error {
	var err error
	s.process, err = s.network.Start(ctx, DMZ, process.Spec{
		Name: "squid",
		Path: s.program,
		// -d1: what cache.log would hold is printed, and thus in the error if squid does not start.
		Args:  []string{"-N", "-d1", "-f", Dir + "/squid/squid.conf"},
		Ready: s.network.Answers(Corp, net.JoinHostPort(ProxyAddress, strconv.Itoa(ProxyPort))),
	})
	return err
}

// Stop ends it as a service manager does. It ends the tunnels, and notes them.
func (s *Squid) Stop() error { return s.process.Stop() }

// Kill ends it at once. What was open is never noted.
func (s *Squid) Kill() { s.process.Kill() }

// SetPassword gives its user another one and returns when the old one is refused. Tunnels stay open.
func (s *Squid) SetPassword(ctx context.Context, password string) error {
	return s.SetUsers(ctx, map[string]string{s.user: password})
}

// SetUsers replaces all users and their passwords, and returns when the earlier ones are refused. Tunnels stay open.
func (s *Squid) SetUsers(ctx context.Context, passwords map[string]string) error {
	if err := s.writeUsers(ctx, passwords); err != nil {
		return fmt.Errorf("change squid's users: %w", err)
	}
	select {
	case <-time.After(2 * credentialsTTL): // it shows nobody what it remembers
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// credentialsTTL is how long squid remembers that a password was right, as in squid.conf.
const credentialsTTL = time.Second

// file is one of its files, as this process sees it.
func (s *Squid) file(name string) string { return s.network.Path(Dir, "squid", name) }

func (s *Squid) configure(ctx context.Context, options SquidOptions) error {
	if err := os.MkdirAll(s.file(""), 0o755); err != nil {
		return err
	}
	if err := os.Chmod(s.file(""), 0o777); err != nil { // squid becomes another user
		return err
	}
	files := map[string][]byte{"squid.conf": []byte(options.config()), "hosts": []byte(options.hosts())}
	if options.TLS != nil {
		var err error
		files["tls.crt"], files["tls.key"], err = options.TLS.Issue(ProxyName, ProxyAddress)
		if err != nil {
			return err
		}
	}
	if options.Starts {
		files["starts.sh"] = []byte(startHelper)
	}
	for name, content := range files {
		if err := os.WriteFile(s.file(name), content, 0o755); err != nil {
			return err
		}
	}
	return s.writeUsers(ctx, map[string]string{s.user: options.Password})
}

// config is squid.conf with what the options change of it.
func (o SquidOptions) config() string {
	if len(o.Ports) == 0 {
		o.Ports = []int{443}
	}
	var lines strings.Builder
	for _, port := range o.Ports {
		fmt.Fprintf(&lines, "acl tunnels port %d\n", port)
	}
	if o.ReadTimeout > 0 {
		fmt.Fprintf(&lines, "read_timeout %d seconds\n", int(math.Ceil(o.ReadTimeout.Seconds())))
	}
	if o.TLS != nil {
		fmt.Fprintf(&lines, "https_port %s:%d tls-cert=%[3]s/squid/tls.crt tls-key=%[3]s/squid/tls.key\n", ProxyAddress, ProxyTLSPort, Dir)
	}
	config := squidConfig
	if o.Bump != nil {
		port := fmt.Sprintf("http_port %s:%d", ProxyAddress, ProxyPort)
		config = strings.Replace(config, port, port+" ssl-bump generate-host-certificates=on tls-cert="+Dir+"/squid/bump.pem", 1) + bumping
	}
	if o.Starts {
		config = strings.Replace(config, "http_access allow staff", starting+"http_access allow staff noted", 1)
	}
	if o.Trusted != "" {
		lines.WriteString("acl trusted src " + o.Trusted + "\nhttp_upgrade_request_protocols websocket allow all\n")
		config = strings.Replace(config, "http_access allow staff", "http_access allow trusted\nhttp_access allow staff", 1)
	}
	if o.NTLM {
		config = regexp.MustCompile(`(?m)^auth_param basic .*$`).ReplaceAllString(config, "")
		lines.WriteString("auth_param ntlm program /usr/lib/squid/ntlm_fake_auth\n")
	}
	if o.Fast {
		config = regexp.MustCompile(`(?m)^(auth_param basic credentialsttl|access_log|max_filedescriptors) .*$`).ReplaceAllString(config, "")
		lines.WriteString("access_log none\nmax_filedescriptors 16384\n")
	}
	return lines.String() + config
}

func (o SquidOptions) hosts() string {
	lines := InternetAddress + " " + InternetName + "\n" + HubAddress + " " + HubName + "\n"
	for _, name := range slices.Sorted(maps.Keys(o.Hosts)) {
		lines += o.Hosts[name] + " " + name + "\n"
	}
	return lines
}

// writeUsers writes passwords as basic_ncsa_auth understands them, which reads the file again when its time, in
// seconds, has changed. They are on no command line.
func (s *Squid) writeUsers(ctx context.Context, passwords map[string]string) error {
	var lines strings.Builder
	for _, user := range slices.Sorted(maps.Keys(passwords)) {
		hash, err := output(ctx, passwords[user]+"\n", nil, "openssl", "passwd", "-apr1", "-stdin")
		if err != nil {
			return err
		}
		lines.WriteString(user + ":" + strings.TrimSpace(string(hash)) + "\n")
	}
	if err := os.WriteFile(s.file("users"), []byte(lines.String()), 0o644); err != nil {
		return err
	}
	s.written++
	changed := time.Now().Add(time.Duration(s.written) * time.Second)
	return os.Chtimes(s.file("users"), changed, changed)
}

// Request is a client's request to squid.
type Request struct {
	User   string // "-" without credentials; who has a wrong password is named
	Method string
	Target string // a URL; of CONNECT, host and port
	Status int    // 407 asks for credentials
}

// Requests are those that have ended, in that order. A CONNECT ends with its connection, so a client that
// keeps one open is not there yet.
func (s *Squid) Requests() ([]Request, error) {
	log, err := os.ReadFile(s.file("access.log"))
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

// starting has squid ask a program about each request, once it knows the user and before it goes anywhere. It remembers no
// answer. It is asked last: while it answers, what squid remembers of a password may end, and it is looked at no more.
const starting = "external_acl_type starts ttl=0 negative_ttl=0 cache=0 grace=0 children-max=4 children-startup=4 concurrency=0 queue-size=10000 %LOGIN %METHOD %DST " + Dir + "/squid/starts.sh\n" +
	"acl noted external starts\n"

// startHelper lets everybody through, and notes them.
const startHelper = `#!/bin/bash
while read -r user method destination _; do
  echo "$(date +%s.%N) $user $method $destination" >>` + Dir + `/squid/starts.log
  echo OK
done
`

// Begun is a request that squid has let a user begin.
type Begun struct {
	At                   time.Time
	User, Method, Target string
}

// Starts returns the starts of requests since squid was started, also of requests that have not ended.
func (s *Squid) Starts() ([]Begun, error) {
	log, err := os.ReadFile(s.file("starts.log"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("read what squid let begin: %w", err)
	}
	var starts []Begun
	for line := range strings.Lines(string(log)) {
		var at float64
		var start Begun
		if _, err := fmt.Sscanf(line, "%f %s %s %s\n", &at, &start.User, &start.Method, &start.Target); err != nil {
			return nil, fmt.Errorf("read what squid let begin: %w: %q", err, line)
		}
		start.At = time.UnixMicro(int64(at * 1e6))
		starts = append(starts, start)
	}
	return starts, nil
}
