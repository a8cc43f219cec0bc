package page

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/internal/cli/pictured"
	"github.com/fairlead-io/fairlead/internal/core/diagnosis"
	"github.com/fairlead-io/fairlead/internal/core/picture"
	"github.com/fairlead-io/fairlead/internal/core/picture/picturetest"
)

// fleet is the page of "fairlead status -o html" about so many clusters, at a time that does not change.
func fleet(t *testing.T, clusters int) []byte {
	t.Helper()
	installed(t, browser)
	lease := &diagnosis.Lease{Holder: "pod", Renewed: morning, Duration: 15 * time.Second}
	in := picture.Input{Now: morning, OperatorNamespace: "fairlead-system", Lease: lease}
	in.Reports, in.Proxies, in.Clusters = picturetest.Fleet(clusters, morning)
	var out bytes.Buffer
	controlplanetest.Require(t, pictured.HTML(&out, picture.Of(in), ""))
	return out.Bytes()
}

// withoutPolicy lets a test's script run in the page.
func withoutPolicy(page []byte) []byte {
	before, rest, _ := bytes.Cut(page, []byte(`<meta http-equiv="Content-Security-Policy"`))
	_, after, _ := bytes.Cut(rest, []byte(">\n"))
	return append(bytes.Clone(before), after...)
}

// act runs a script in a page while it lives, in real time, and returns what the script returns: an async function's body.
// The policy of the page allows no script but its own: that is taken out here, and tested elsewhere.
func act(t *testing.T, page []byte, script string, size window, into any) {
	t.Helper()
	actOn(t, page, script, size, func(w http.ResponseWriter, _ *http.Request, scripted string) { _, _ = io.WriteString(w, scripted) }, into)
}

// actOn gives the page with the script to a browser, and answers its requests by serve.
func actOn(t *testing.T, page []byte, script string, size window, serve func(w http.ResponseWriter, r *http.Request, scripted string), into any) {
	t.Helper()
	results := make(chan []byte, 1)
	text := strings.Replace(string(withoutPolicy(page)), "</body>", "<script>(async () => {"+helpers+script+`})().then(
		result => fetch("/result", {method: "POST", body: JSON.stringify(result)}),
		error => fetch("/result", {method: "POST", body: JSON.stringify({failed: String(error && error.stack || error)})}))</script></body>`, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/result" {
			body, _ := io.ReadAll(r.Body)
			results <- body
			return
		}
		w.Header().Set("Content-Type", "text/html")
		serve(w, r, text)
	}))
	defer server.Close()
	cmd := chromium(t, light, size, "--remote-debugging-port=0", server.URL+"/status") // which lets it live
	controlplanetest.Require(t, cmd.Start())
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	select {
	case body := <-results:
		var failed struct{ Failed string }
		if json.Unmarshal(body, &failed) == nil && failed.Failed != "" {
			t.Fatal(failed.Failed)
		}
		if err := json.Unmarshal(body, into); err != nil {
			t.Fatalf("%v: %s", err, body)
		}
	case <-time.After(patience):
		t.Fatal("the script has not ended")
	}
}

const helpers = `
		const frame = () => new Promise(resolve => requestAnimationFrame(() => setTimeout(resolve)))
		const until = async is => { for (const end = Date.now() + 120000; !is();) { if (Date.now() > end) throw new Error("not so: " + is); await frame() } }
		const root = document.documentElement
		const drawn = by => until(() => root.dataset.drawn === by)
		const type = async text => { const box = document.getElementById("search"); box.value = text; box.dispatchEvent(new Event("input")) }
		const count = n => until(() => root.dataset.found === String(n))
		const visible = selector => [...document.querySelectorAll(selector)].filter(e => e.checkVisibility())
		const press = (target, key) => target.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true, cancelable: true}))
	`

// A reader can scroll and type between any two steps of the page, and no step touches more than some hundred tiles. What it does in
// a moment is as much as the clock allows: this one has time for two steps.
func TestNoStepOfThePageTouchesManyTiles(t *testing.T) {
	const counter = `<script>
		let clock = 0
		performance.now = () => clock += 5
		window.touched = 0
		const tilesOf = node => node.querySelectorAll ? node.querySelectorAll(".tile").length + node.matches(".tile") : 0
		new MutationObserver(records => {
			let n = 0
			for (const record of records) n += record.type === "attributes" ? 1 : [...record.addedNodes].reduce((sum, node) => sum + tilesOf(node), 0)
			window.touched = Math.max(window.touched, n)
		}).observe(document, { subtree: true, childList: true, attributes: true, attributeFilter: ["hidden", "class"] })
	</script>`
	page := bytes.Replace(fleet(t, 5000), []byte("<script"), []byte(counter+"<script"), 1)
	var got struct {
		Tiles   int
		Touched map[string]int
		Said    string
	}
	act(t, page, `
		const most = {}
		const during = async (what, does) => { await does(); await frame(); most[what] = touched; touched = 0 }
		await during("start", () => drawn("n"))
		await during("scrolling", async () => { for (let y = 0; y < document.body.scrollHeight; y += 150) { scrollTo(0, y); await frame() } scrollTo(0, 0) })
		await during("searching", async () => {
			for (let i = 1; i <= 6; i++) { await type("madrid".slice(0, i)); await frame() }
			await until(() => Number(root.dataset.found) === 714)
			await type(""); await count(5000)
		})
		await during("grouping", async () => {
			for (const by of ["p", "i", "n"]) { const radio = document.querySelector("input[value=" + by + "]"); radio.click(); await drawn(by) }
		})
		await during("opening", async () => { document.querySelector(".tile.error").click(); await until(() => document.querySelector("dialog").open) })
		return {tiles: document.querySelectorAll(".tile").length, touched: most, said: document.querySelector(".said").innerText}`, desktop, &got)
	if got.Tiles != 5000 || !strings.Contains(got.Said, "Error") {
		t.Errorf("%d tiles; the first that is opened says %q", got.Tiles, got.Said)
	}
	for what, tiles := range got.Touched {
		if tiles > 300 {
			t.Errorf("%s: a step touches %d tiles", what, tiles)
		}
	}
	if got.Touched["start"] == 0 || got.Touched["searching"] == 0 || got.Touched["grouping"] == 0 {
		t.Errorf("the steps are not seen: %v", got.Touched)
	}
}

func TestTheFleetIsReachedByKeyboardAndNamedForAScreenReader(t *testing.T) {
	const script = `
		await drawn("n")
		const stops = () => visible(".tile").filter(tile => tile.tabIndex === 0)
		const out = {stops: stops().length, unnamed: visible("button, input").filter(e => !(e.getAttribute("aria-label") || e.innerText || e.labels && e.labels.length)).length}
		const first = stops()[0]
		first.focus()
		out.first = first.getAttribute("aria-label")
		for (const key of ["ArrowRight", "ArrowRight", "ArrowDown", "ArrowUp", "ArrowLeft"]) press(document.activeElement, key)
		out.second = document.activeElement.getAttribute("aria-label")
		press(document.activeElement, "End")
		out.last = document.activeElement === visible(".tile").at(-1)
		press(document.activeElement, "Home")
		out.home = document.activeElement === first
		out.stopsLater = stops().length
		first.click() // which Enter does to a button
		const dialog = document.querySelector("dialog")
		await until(() => dialog.open)
		out.title = document.getElementById(dialog.getAttribute("aria-labelledby")).innerText
		out.inside = dialog.contains(document.activeElement)
		document.getElementById("close").click()
		await until(() => !dialog.open)
		await until(() => document.activeElement === first)
		const errors = document.querySelector(".state.error")
		errors.click()
		await count(1)
		out.pressed = errors.getAttribute("aria-pressed")
		out.status = document.querySelector("[role=status]").innerText
		out.reachable = stops().length
		errors.click()
		await type("policies/no such")
		await count(0)
		await type("held/waits") // what is said is searched, too
		await count(2)
		return out`
	var got struct {
		Stops, Unnamed, StopsLater, Reachable int
		First, Second, Title, Pressed, Status string
		Last, Home, Inside                    bool
	}
	act(t, fleet(t, 40), script, desktop, &got)
	if got.Stops != 1 || got.StopsLater != 1 || got.Reachable != 1 || got.Unnamed != 0 || !got.Last || !got.Home || !got.Inside ||
		!strings.HasPrefix(got.First, "team-dublin/dublin-0004: Warning, machines were created") || got.Second != "team-dublin/dublin-0011: Waiting, a change of the cluster's own waits" ||
		got.Title != "team-dublin/dublin-0004" || got.Pressed != "true" || got.Status != "1 of 40 clusters" {
		t.Errorf("%+v", got)
	}
}

// The page as it is written: its policy lets its own script run, and markup in a name stays text.
func TestThePageOfAFleetRunsUnderItsOwnPolicy(t *testing.T) {
	path := write(t, "fleet.html", fleet(t, 40)) + "#team-lisbon/lisbon-0033" // which has markup in a message
	dom := browse(t, path, light, desktop, later, "--dump-dom")
	if n := strings.Count(dom, `class="tile `); n != 40 {
		t.Errorf("%d tiles are drawn", n)
	}
	if strings.Contains(dom, "<b>10.0.0.0/33</b>") {
		t.Error("a message became markup")
	}
}
