package page

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	nethtml "golang.org/x/net/html"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/internal/core/picture/picturetest"
)

const pictures = "../../docs/pictures"

// later gives the page's own timers their time before the browser looks.
const later = "--virtual-time-budget=20000"

// The documentation shows the page, the terminal and the dashboard as they are. What they are made of is kept beside the pictures, in a
// digest: another browser draws other pixels, and that is no reason to fail.
func TestThePicturesInTheDocumentationAreOfThisVersion(t *testing.T) {
	page := write(t, "fleet.html", fleet(t, 40))
	terminal := terminalPage(t)
	panels, panelsMade := dashboardPage(t)
	drawn := outline(t, browse(t, page, light, desktop, later, "--dump-dom"))
	digests := map[string]string{"status": drawn, "status-dark": drawn, "status-terminal": digest(readFile(t, terminal)), "dashboard": panelsMade}
	if os.Getenv("UPDATE") != "" {
		for name, shot := range map[string]struct {
			page string
			as   theme
			size window
		}{"status": {page, light, window{1000, 1150}}, "status-dark": {page, dark, window{1000, 1150}}, "status-terminal": {terminal, dark, window{1000, 690}}, "dashboard": {panels, dark, window{1216, 1280}}} {
			picture, err := filepath.Abs(filepath.Join(pictures, name+".png"))
			controlplanetest.Require(t, err)
			browse(t, shot.page, shot.as, shot.size, later, "--screenshot="+picture)
		}
		text, err := json.MarshalIndent(digests, "", "  ")
		controlplanetest.Require(t, err)
		controlplanetest.Require(t, os.WriteFile("testdata/pictures.json", append(text, '\n'), 0o600))
	}
	var kept map[string]string
	controlplanetest.Require(t, json.Unmarshal([]byte(readFile(t, "testdata/pictures.json")), &kept))
	for name, is := range digests {
		info, err := os.Stat(filepath.Join(pictures, name+".png"))
		switch {
		case err != nil:
			t.Error(err)
		case info.Size() < 5_000 || info.Size() > 300_000:
			t.Errorf("%s has %d bytes", info.Name(), info.Size())
		case kept[name] != is:
			t.Errorf("docs/pictures/%s.png shows an older version: UPDATE=1 go test -run Pictures ./page, and look at it", name)
		}
	}
}

// outline is the digest of the elements of a page and their classes.
func outline(t *testing.T, dom string) string {
	t.Helper()
	tree, err := nethtml.Parse(strings.NewReader(dom))
	controlplanetest.Require(t, err)
	var all strings.Builder
	for node := range tree.Descendants() {
		if node.Type != nethtml.ElementNode {
			continue
		}
		all.WriteString(node.Data)
		for _, a := range node.Attr {
			if a.Key == "class" || a.Key == "id" || a.Key == "role" {
				all.WriteString(" " + a.Key + "=" + a.Val)
			}
		}
		all.WriteByte('\n')
	}
	return digest(all.String())
}

func digest(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }

func readFile(t *testing.T, path string) string {
	t.Helper()
	return string(controlplanetest.ReadFile(t, path))
}

var (
	clock  = regexp.MustCompile(`20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ`)
	escape = regexp.MustCompile("\x1b\\[(\\d+)m")
	inks   = map[string]string{"0": "</span>", "1": `<span class="bold">`, "31": `<span class="red">`, "32": `<span class="green">`, "33": `<span class="yellow">`, "34": `<span class="blue">`}
)

// terminalPage runs the command in a terminal of 118 columns (script(1) has one), and writes what it shows with its colours.
func terminalPage(t *testing.T) string {
	t.Helper()
	fairlead := controlplanetest.Program(t, "fairlead")
	reports, proxies, metadata := picturetest.Fleet(40, time.Now())
	var objects []any
	for i := range reports {
		objects = append(objects, reports[i], map[string]any{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": metadata[i]})
	}
	for i := range proxies {
		objects = append(objects, proxies[i])
	}
	text, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": objects})
	controlplanetest.Require(t, err)
	file := write(t, "fleet.json", text)
	cmd := exec.Command("script", "--quiet", "--return", "--command", "stty cols 118; "+fairlead+" status -f fleet.json", "/dev/null")
	cmd.Dir, cmd.Env = filepath.Dir(file), append(os.Environ(), "TERM=xterm")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	shown := clock.ReplaceAllString(strings.ReplaceAll(string(out), "\r\n", "\n"), "2026-12-15T22:00:00Z")
	shown = escape.ReplaceAllStringFunc(html.EscapeString(shown), func(code string) string { return inks[escape.FindStringSubmatch(code)[1]] })
	if !strings.Contains(shown, `<span class="red">Error</span>`) || strings.Contains(shown, "\x1b") {
		t.Fatalf("no colours: %q", shown)
	}
	const style = "body{margin:0;padding:16px;background:#14171d;color:#dfe3ea;font:13px/1.35 'DejaVu Sans Mono',monospace}" +
		".red{color:#ff7b72}.green{color:#5fd38d}.yellow{color:#e3b341}.blue{color:#79b8ff}.bold{font-weight:700}"
	page := "<!doctype html><meta charset=utf-8><style>" + style + "</style><pre style=margin:0><b>$ fairlead status -f fleet.json</b>\n" + shown + "</pre>"
	return write(t, "terminal.html", []byte(page))
}
