// Package page looks at the page of "fairlead explain -o html" in a real browser.
package page

import (
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
)

// theme is the preference of a reader's system.
type theme string

const (
	light theme = "light"
	dark  theme = "dark"
)

// scheme is Chromium's number for it: blink/public/mojom/css/preferred_color_scheme.mojom.
var scheme = map[theme]string{dark: "0", light: "1"}

// window is the size of the browser's, in pixels.
type window struct{ width, height int }

// browser returns Chromium, or skips the test; in CI that would hide that nothing is looked at.
func browser(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil && os.Getenv("CI") == "true" {
		t.Fatal(err, "(make deps installs it)")
	}
	if err != nil {
		t.Skip(err, "(make deps installs it)")
	}
	return path
}

// browse opens a page and returns what the browser prints.
func browse(t *testing.T, page string, as theme, size window, arguments ...string) string {
	t.Helper()
	// Not t.TempDir: a child of the browser may outlive it for a moment and write there.
	profile, err := os.MkdirTemp("", "chromium")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(profile)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	arguments = append(common(profile, as, size), arguments...)
	cmd := exec.CommandContext(ctx, browser(t), append(arguments, "file://"+page)...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	return string(out)
}

// common are the arguments of every browser.
func common(profile string, as theme, size window) []string {
	return []string{
		"--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--force-device-scale-factor=1",
		"--user-data-dir=" + profile,
		"--blink-settings=preferredColorScheme=" + scheme[as],
		fmt.Sprintf("--window-size=%d,%d", size.width, size.height),
	}
}

// measure runs a script in the page, which has none of its own, and returns
// what it returns.
func measure(t *testing.T, page, script string, as theme, size window, into any) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	added := "<script>document.documentElement.dataset.result = JSON.stringify((() => {" + script + "})())</script></body>"
	scripted := filepath.Join(t.TempDir(), "scripted.html")
	if err := os.WriteFile(scripted, []byte(strings.Replace(string(text), "</body>", added, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	tree, err := html.Parse(strings.NewReader(browse(t, scripted, as, size, "--dump-dom")))
	if err != nil {
		t.Fatal(err)
	}
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
