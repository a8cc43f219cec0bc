package machine

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/fairlead-io/fairlead/e2e/tools"
)

// recipe is how the root file system is made. What a machine needs only because it is ours is written
// when it boots.
var recipe = []string{
	"mmdebstrap", "--variant=minbase", "--format=directory",
	"--include=systemd,systemd-sysv,dbus,kmod,procps,iproute2,libpam-modules,ca-certificates,curl," +
		"containerd,runc,cloud-init",
	"--dpkgopt=path-exclude=/usr/share/doc/*",
	"--dpkgopt=path-exclude=/usr/share/man/*",
	"--dpkgopt=path-exclude=/usr/share/locale/*",
	"bookworm",
}

// rootFS returns a folder with a Debian that nothing has booted yet, and makes it if it is not in the
// cache, which takes a minute and the network. Nothing may be written there.
func rootFS(ctx context.Context, progress io.Writer) (string, error) {
	if err := available("mmdebstrap", "unshare"); err != nil {
		return "", err
	}
	digest := sha256.Sum256([]byte(runtime.GOARCH + "\n" + strings.Join(recipe, "\n")))
	folder, err := tools.Folder(ctx, "machine", fmt.Sprintf("%.6x", digest), func(temp string) error {
		fmt.Fprintln(progress, "making a Debian (once, about 1 minute)…")
		// With mounts and processes of its own, nothing is left of it when it is killed.
		command := append([]string{"unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"}, recipe...)
		if _, err := output(ctx, "", append(command, filepath.Join(temp, "root"))...); err != nil {
			return fmt.Errorf("%w: mmdebstrap: %w", tools.ErrUnavailable, err)
		}
		return os.Chmod(temp, 0o755)
	})
	return filepath.Join(folder, "root"), err
}
