package machine

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/fairlead-io/fairlead/e2e/tools"
)

// bumping are the lines that squid.conf needs for looking into TLS. Requests would not know a log line for each request
// inside.
const bumping = `
acl began at_step SslBump1
ssl_bump peek began
ssl_bump bump all
tls_outgoing_options cafile=` + Dir + `/squid/hubs.crt
sslcrtd_program ` + Dir + `/squid/certgen -s ` + Dir + `/squid/certificates -M 4MB
`

// squidOpenSSL returns a folder with Debian's squid-openssl, which does not go with squid on one machine.
func squidOpenSSL(ctx context.Context) (string, error) {
	return tools.Folder(ctx, "squid-openssl", suite, func(dir string) error {
		for _, command := range [][]string{{"apt-get", "-q", "download", "squid-openssl"}, {"sh", "-c", "dpkg-deb -x squid-openssl_*.deb ."}} {
			cmd := exec.CommandContext(ctx, command[0], command[1:]...)
			cmd.Dir = dir
			if out, err := cmd.CombinedOutput(); err != nil {
				return fmt.Errorf("%w: %s: %w: %s", tools.ErrUnavailable, command[0], err, out)
			}
		}
		return nil
	})
}

// bumps gets a squid that looks into TLS, and what it needs to sign.
func (s *Squid) bumps(ctx context.Context, options SquidOptions) error {
	root, err := squidOpenSSL(ctx)
	if err != nil {
		return err
	}
	s.program = filepath.Join(root, "usr/sbin/squid")
	if err := os.MkdirAll(s.file(""), 0o755); err != nil {
		return err
	}
	key, err := options.Bump.KeyPEM()
	if err != nil {
		return err
	}
	for name, content := range map[string][]byte{"bump.pem": bytes.Join([][]byte{options.Bump.PEM(), key}, nil), "hubs.crt": options.Hubs.PEM()} {
		if err := os.WriteFile(s.file(name), content, 0o755); err != nil {
			return err
		}
	}
	// Not written by this process: what it forks meanwhile would have the file open for a moment, and a program that is open
	// for writing does not start.
	if _, err := output(ctx, "", nil, "cp", filepath.Join(root, "usr/lib/squid/security_file_certgen"), s.file("certgen")); err != nil {
		return err
	}
	if out, err := output(ctx, "", nil, s.file("certgen"), "-c", "-s", s.file("certificates"), "-M", "4MB"); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	_, err = output(ctx, "", nil, "chown", "-R", "proxy:proxy", s.file("certificates"))
	return err
}
