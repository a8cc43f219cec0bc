package machine

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/e2e/tools"
)

// Prepare makes the parts that are made once and take long, or need the network. These are the Debian that machines
// boot, and a squid that looks into TLS. Otherwise the first test that needs a part makes it.
func Prepare(ctx context.Context, progress io.Writer) error {
	if _, err := rootFS(ctx, progress); err != nil {
		return err
	}
	_, err := squidOpenSSL(ctx)
	return err
}

// recipe is how the root file system is made. What a machine needs only because it is ours is written
// when it boots.
var recipe = []string{
	"mmdebstrap", "--variant=minbase", "--format=directory",
	"--include=systemd,systemd-sysv,dbus,kmod,procps,iproute2,libpam-modules,ca-certificates,curl," +
		"containerd,runc,cloud-init",
	"--dpkgopt=path-exclude=/usr/share/doc/*",
	"--dpkgopt=path-exclude=/usr/share/man/*",
	"--dpkgopt=path-exclude=/usr/share/locale/*",
}

const suite = "bookworm"

// mirrors are where this machine has the suite from, as lines of sources.list: the one that mmdebstrap knows may
// be out of reach. Where this is another Debian, there are none, and mmdebstrap takes that one.
func mirrors(ctx context.Context) []string {
	out, err := output(ctx, "", nil, "apt-get", "indextargets", "--format", "deb $(REPO_URI) $(RELEASE) $(COMPONENT)",
		"Created-By: Packages", "Origin: Debian")
	if err != nil || !strings.Contains(string(out), " "+suite+" main\n") {
		return nil
	}
	var lines []string
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, " "+suite) && strings.HasSuffix(line, " main\n") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	slices.Sort(lines)
	return slices.Compact(lines) // one for each architecture
}

// rootFS returns a folder with a Debian that nothing has booted yet, and makes it if it is not in the
// cache, which takes a minute and the network. Nothing may be written there.
func rootFS(ctx context.Context, progress io.Writer) (string, error) {
	if err := available("mmdebstrap", "unshare"); err != nil {
		return "", err
	}
	digest := sha256.Sum256([]byte(runtime.GOARCH + "\n" + suite + "\n" + strings.Join(recipe, "\n")))
	folder, err := tools.Folder(ctx, "machine", fmt.Sprintf("%.6x", digest), func(temp string) error {
		fmt.Fprintln(progress, "making a Debian (once, about 1 minute)…")
		// With mounts and processes of its own, nothing is left of it when it is killed.
		command := append([]string{"unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"}, recipe...)
		command = append(command, suite, filepath.Join(temp, "root"))
		if _, err := output(ctx, "", nil, append(command, mirrors(ctx)...)...); err != nil {
			return fmt.Errorf("%w: mmdebstrap: %w", tools.ErrUnavailable, err)
		}
		return os.Chmod(temp, 0o755)
	})
	return filepath.Join(folder, "root"), err
}
