package page

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
)

var desktop, phone = window{1440, 900}, window{390, 844}

// written returns the path of the page about the published example.
func written(t *testing.T) string {
	t.Helper()
	installed(t, browser)
	cmd := exec.Command(controlplanetest.Program(t, "fairlead"), "explain",
		"kubernetes.default.svc", "foo.svc.cluster.local", "100.64.0.1", "10.1.2.3", "sub.example.com", "example.com.", "[::1]",
		"--values", "secret-values.yaml", "--cluster", "cluster.yaml", "--form", "Exact", "-o", "html")
	cmd.Dir = "../../examples"
	page, err := cmd.Output()
	controlplanetest.Require(t, err)
	return write(t, "page.html", page)
}

func TestTheHeadingsStay(t *testing.T) {
	page := written(t)
	const script = `
		document.body.style.minHeight = "300vh"
		document.body.style.minWidth = "300vw"
		const table = document.querySelector("table").getBoundingClientRect()
		scrollTo(table.left + 200, table.top + 100)
		const box = selector => document.querySelector(selector).getBoundingClientRect()
		return {
			scrolled: [scrollX, scrollY],
			top: box("thead th:nth-child(2)").top, left: box("tbody tr:last-child th").left, corner: [box("thead th").left, box("thead th").top],
		}`
	var got struct {
		Scrolled, Corner []float64
		Top, Left        float64
	}
	measure(t, page, script, light, window{1440, 300}, &got)
	if got.Scrolled[0] < 100 || got.Scrolled[1] < 100 {
		t.Fatalf("not scrolled: %v", got.Scrolled)
	}
	if got.Top != 0 || got.Left != 0 || got.Corner[0] != 0 || got.Corner[1] != 0 {
		t.Errorf("the headings are at %+v", got)
	}
}

// Whoever points at a cell, or reaches it by keyboard, sees why. A browser
// without a screen has no pointer and may not have the focus, so the script gives
// what the rule for both says to a class of its own.
func TestANoteOpensInsideTheWindow(t *testing.T) {
	page := written(t)
	const script = `
		const sheet = document.styleSheets[0]
		const rules = [...sheet.cssRules].filter(rule => rule.selectorText === "td:hover .note, td:focus .note")
		if (rules.length === 1) sheet.insertRule("td.pointed .note {" + rules[0].style.cssText + "}", sheet.cssRules.length)
		const hidden = [...document.querySelectorAll(".note")].filter(note => note.getBoundingClientRect().width > 0).length
		const outside = []
		let seen = 0
		for (const cell of document.querySelectorAll("td")) {
			cell.classList.add("pointed")
			const box = cell.querySelector(".note").getBoundingClientRect()
			seen += box.width > 40 && box.height > 15
			if (box.left < 0 || box.right > innerWidth) outside.push(cell.innerText)
			cell.classList.remove("pointed")
		}
		return {cells: document.querySelectorAll("td[tabindex='0']").length, seen, hidden, outside}`
	var got struct {
		Cells, Seen, Hidden int
		Outside             []string
	}
	measure(t, page, script, light, desktop, &got)
	if got.Hidden != 0 || got.Cells < 7 || got.Seen != got.Cells || len(got.Outside) > 0 {
		t.Errorf("%+v", got)
	}
}

// contrast finds text with less contrast to its background than WCAG 2.2 asks for (1.4.3).
const contrast = `
		const parse = colour => colour.match(/[\d.]+/g).map(Number)
		const luminance = ([r, g, b]) => [r, g, b].map(c => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
			.reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0)
		const behind = element => {
			for (; element; element = element.parentElement) {
				const colour = parse(getComputedStyle(element).backgroundColor)
				if (colour.length === 3 || colour[3] === 1) return colour
			}
		}
		const worst = {}
		for (const element of document.querySelectorAll(".tile, .state, .state *, .command, a, label, legend, .soft, p, h1, h2, li, .pill, .mark, th, th span, td, td span, td code, dt, dd")) {
			const back = behind(element), style = getComputedStyle(element), opacity = Number(style.opacity)
			const ink = parse(style.color).slice(0, 3).map((c, i) => c * opacity + back[i] * (1 - opacity))
			const [low, high] = [luminance(ink), luminance(back)].sort((a, b) => a - b)
			const contrast = (high + 0.05) / (low + 0.05)
			if (contrast < 4.5) worst[element.tagName + "." + element.className] = contrast
		}
		return worst`

// overflow finds what sticks out of the window, and cells out of which their text does.
const overflow = `
		const all = selector => [...document.querySelectorAll(selector)]
		return {
			wider: document.scrollingElement.scrollWidth - innerWidth,
			cells: all("td, thead th, dd, dt, li").filter(e => e.scrollWidth > e.clientWidth).map(e => e.innerText),
			outside: all("header *, section *").filter(e => !e.parentElement.closest(".wide") && e.getBoundingClientRect().right > innerWidth)
				.map(e => e.outerHTML.slice(0, 80)),
		}`

func TestEachPageCanBeReadAndNothingOverflows(t *testing.T) {
	for name, page := range map[string]string{"explain": written(t), "status": write(t, "fleet.html", withoutPolicy(fleet(t, 40)))} {
		for _, as := range []theme{light, dark} {
			worst := map[string]float64{}
			measure(t, page, contrast, as, desktop, &worst)
			for what, is := range worst {
				t.Errorf("%s, %s: %s has a contrast of %.2f", name, as, what, is)
			}
		}
		for _, size := range []window{desktop, phone} {
			var got struct {
				Wider          int
				Cells, Outside []string
			}
			measure(t, page, overflow, light, size, &got)
			if size == desktop && got.Wider > 0 {
				t.Errorf("%s is %d pixels wider than the window", name, got.Wider)
			}
			if len(got.Cells) > 0 || len(got.Outside) > 0 {
				t.Errorf("%s at %v: overflow of %q, outside the window are %q", name, size, got.Cells, got.Outside)
			}
		}
	}
}

func TestEachThemeHasColoursOfItsOwnForCellsThatDisagree(t *testing.T) {
	const script = `
		const [page, direct, proxy] = ["html", "td.direct.disagree", "td.proxy.disagree"].map(selector => getComputedStyle(document.querySelector(selector)).backgroundColor)
		return {page, direct, proxy, channels: page.match(/\d+/g).map(Number)}`
	file := written(t)
	for as, bright := range map[theme]bool{light: true, dark: false} {
		var got struct {
			Page, Direct, Proxy string
			Channels            []int
		}
		measure(t, file, script, as, desktop, &got)
		if bright && slices.Min(got.Channels) < 200 || !bright && slices.Max(got.Channels) > 60 {
			t.Errorf("%s: the page is %s", as, got.Page)
		}
		filled := strings.HasPrefix(got.Direct, "rgb(") && strings.HasPrefix(got.Proxy, "rgb(") // rgba is seen through
		if !filled || got.Direct == got.Page || got.Proxy == got.Page || got.Direct == got.Proxy {
			t.Errorf("%s: direct is %s, proxy %s, on %s", as, got.Direct, got.Proxy, got.Page)
		}
	}
}
