package render

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func findSystemd(t *testing.T) string {
	t.Helper()
	for _, program := range []string{"/lib/systemd/systemd", "/usr/lib/systemd/systemd"} {
		if _, err := os.Stat(program); err == nil {
			return program
		}
	}
	without(t, "there is no systemd here: the escaping was not held against the real one")
	return ""
}

// loadUnits loads services with these drop-ins, and returns what systemd prints
// of them and what it complains about. "systemd --test" does not run as root, so
// root runs it as nobody.
func loadUnits(t *testing.T, program string, dropIns map[string]string) (dump, warnings string) {
	t.Helper()
	// Not t.TempDir, which nobody else may enter.
	dir, err := os.MkdirTemp("", "fairlead-systemd-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	files := map[string]string{"units/default.target": "[Unit]\n", "run/empty": ""}
	for name, dropIn := range dropIns {
		files["units/default.target"] += "Wants=" + name + ".service\n"
		files["units/"+name+".service"] = "[Unit]\nDefaultDependencies=no\n[Service]\nExecStart=/bin/true\n"
		files["units/"+name+".service.d/99-test.conf"] = dropIn
	}
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "--test", "--user", "--no-pager", "--log-target=console", "--log-level=warning")
	cmd.Dir = dir
	cmd.Env = []string{"HOME=" + dir, "XDG_RUNTIME_DIR=" + dir + "/run", "SYSTEMD_UNIT_PATH=" + dir + "/units", "LC_ALL=C.UTF-8", "SYSTEMD_LOG_COLOR=0"}
	const nobody = 65534
	for _, path := range []string{dir, dir + "/run"} {
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
		if os.Geteuid() == 0 {
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
			if err := os.Chown(path, nobody, nobody); err != nil {
				t.Fatal(err)
			}
		}
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, stderr.String())
	}
	for line := range strings.Lines(stderr.String()) {
		if strings.Contains(line, "99-test.conf") {
			warnings += line
		}
	}
	return stdout.String(), warnings
}
