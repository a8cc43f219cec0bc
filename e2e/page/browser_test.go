// Package page looks at the page of "fairlead explain -o html" in a real browser.
package page

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/tools"
)

// theme is the preference of a reader's system.
type theme string

const (
	light theme = "light"
	dark  theme = "dark"
)

// scheme is Chromium's number for it: blink/public/mojom/css/preferred_color_scheme.mojom.
var scheme = map[theme]string{dark: "0", light: "1"}

const (
	browser  = "chromium"
	patience = 5 * time.Minute // for what it does with one page
)

// window is the size of the browser's, in pixels.
type window struct{ width, height int }

// installed returns the path of a program, or skips the test; in CI that would hide that nothing is looked at.
func installed(t *testing.T, program string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		controlplanetest.Require(t, fmt.Errorf("%w: %w (make deps installs it)", tools.ErrUnavailable, err))
	}
	return path
}

// write makes a file of the test's own, and returns its path.
func write(t *testing.T, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	controlplanetest.Require(t, os.WriteFile(path, content, 0o600))
	return path
}

// browse opens a page and returns what the browser prints.
func browse(t *testing.T, page string, as theme, size window, arguments ...string) string {
	t.Helper()
	cmd := chromium(t, as, size, append(arguments, "file://"+page)...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	return string(out)
}

// chromium is the command of a browser with a profile of its own.
func chromium(t *testing.T, as theme, size window, arguments ...string) *exec.Cmd {
	t.Helper()
	// Not t.TempDir: a child of the browser may outlive it for a moment and write there.
	profile, err := os.MkdirTemp("", "chromium")
	controlplanetest.Require(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(profile) })
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return exec.CommandContext(ctx, installed(t, browser), append([]string{
		"--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--force-device-scale-factor=1",
		"--user-data-dir=" + profile,
		"--blink-settings=preferredColorScheme=" + scheme[as],
		fmt.Sprintf("--window-size=%d,%d", size.width, size.height),
	}, arguments...)...)
}

// measure runs a script in the page, which has none of its own, and returns
// what it returns.
func measure(t *testing.T, page, script string, as theme, size window, into any) {
	t.Helper()
	text := controlplanetest.ReadFile(t, page)
	added := "<script>document.documentElement.dataset.result = JSON.stringify((() => {" + script + "})())</script></body>"
	scripted := write(t, "scripted.html", bytes.Replace(text, []byte("</body>"), []byte(added), 1))
	tree, err := html.Parse(strings.NewReader(browse(t, scripted, as, size, "--dump-dom")))
	controlplanetest.Require(t, err)
	for node := range tree.Descendants() {
		for _, attribute := range node.Attr {
			if attribute.Key == "data-result" {
				if err := json.Unmarshal([]byte(attribute.Val), into); err != nil {
					t.Fatalf("%v: %s", err, attribute.Val)
				}
				return
			}
		}
	}
	t.Fatal("the script has not run")
}
