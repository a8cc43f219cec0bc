package page

import (
	"context"
	"image"
	"image/color"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/fairlead-io/fairlead/e2e/tools"
)

var desktop, phone = window{1440, 900}, window{390, 844}

// text is the page about the published example.
var text = sync.OnceValues(func() ([]byte, error) {
	fairlead, err := tools.Program(context.Background(), "fairlead")
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(fairlead, "explain",
		"kubernetes.default.svc", "foo.svc.cluster.local", "100.64.0.1", "10.1.2.3", "sub.example.com", "example.com.", "[::1]",
		"--values", "secret-values.yaml", "--cluster", "cluster.yaml", "--form", "Exact", "-o", "html")
	cmd.Dir = "../../examples"
	return cmd.Output()
})

// written returns the path of the page.
func written(t *testing.T) string {
	t.Helper()
	browser(t)
	page, err := text()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(path, page, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// colours is what the style sheet says in a theme, and the area in pixels that
// has each colour, but for the text on it.
type colours struct {
	Page, Direct, Proxy []uint8
	Area                struct{ Direct, Proxy float64 }
}

const readColours = `
	const rgb = colour => getComputedStyle(document.body).color && (() => {
		const probe = document.body.appendChild(document.createElement("i"))
		probe.style.color = colour
		const found = getComputedStyle(probe).color.match(/\d+/g).slice(0, 3).map(Number)
		probe.remove()
		return found
	})()
	const area = route => [...document.querySelectorAll("td." + route + ".disagree")].map(cell => {
		const box = cell.getBoundingClientRect()
		const height = Math.min(box.bottom, HEIGHT) - Math.max(box.top, 0)
		return height > 0 ? height * cell.clientWidth : 0
	}).reduce((a, b) => a + b, 0)
	return {
		page: rgb("var(--page)"), direct: rgb("var(--direct)"), proxy: rgb("var(--proxy)"),
		area: {direct: area("direct"), proxy: area("proxy")},
	}`

func TestThePictureHasTheColoursOfEachTheme(t *testing.T) {
	page := written(t)
	var backgrounds []color.Gray
	for _, as := range []theme{light, dark} {
		var want colours
		// The window of a picture has no bars, the one that is measured has.
		measure(t, page, strings.Replace(readColours, "HEIGHT", strconv.Itoa(desktop.height), 1), as, desktop, &want)
		picture := screenshot(t, page, as, desktop)
		if size := picture.Bounds().Size(); size != (image.Point{desktop.width, desktop.height}) {
			t.Fatalf("%s: the picture has %v pixels", as, size)
		}
		if got := picture.At(3, 3); !is(got, want.Page) {
			t.Errorf("%s: the background is %v, want %v", as, got, want.Page)
		}
		backgrounds = append(backgrounds, color.GrayModel.Convert(picture.At(3, 3)).(color.Gray))
		for name, fill := range map[string]struct {
			colour []uint8
			area   float64
		}{"direct": {want.Direct, want.Area.Direct}, "proxy": {want.Proxy, want.Area.Proxy}} {
			pixels := float64(count(picture, fill.colour))
			if share := fill.area / float64(desktop.width*desktop.height); share < 0.02 {
				t.Errorf("%s: %s has %.1f%% of the picture", as, name, share*100)
			}
			// The text, the gaps between cells and their corners have other colours.
			if pixels < 0.5*fill.area || pixels > fill.area*1.02 {
				t.Errorf("%s: %.0f pixels are %s, of cells with %.0f", as, pixels, name, fill.area)
			}
		}
	}
	if backgrounds[0].Y < 200 || backgrounds[1].Y > 60 {
		t.Errorf("light is %v and dark %v", backgrounds[0], backgrounds[1])
	}
}

func is(got color.Color, want []uint8) bool {
	r, g, b, _ := got.RGBA()
	return len(want) == 3 && r>>8 == uint32(want[0]) && g>>8 == uint32(want[1]) && b>>8 == uint32(want[2])
}

func count(picture image.Image, colour []uint8) int {
	found := 0
	for y := range picture.Bounds().Dy() {
		for x := range picture.Bounds().Dx() {
			if is(picture.At(x, y), colour) {
				found++
			}
		}
	}
	return found
}

func TestNothingOverflows(t *testing.T) {
	page := written(t)
	const script = `
		const root = document.scrollingElement
		const wide = selector => [...document.querySelectorAll(selector)].filter(e => e.scrollWidth > e.clientWidth).map(e => e.innerText)
		const beyond = selector => [...document.querySelectorAll(selector)].filter(e => e.getBoundingClientRect().right > innerWidth).map(e => e.innerText)
		return {page: root.scrollWidth - innerWidth, cells: wide("td, thead th, dd, dt, li"), outside: beyond("header *, section *")}`
	for _, size := range []window{desktop, phone} {
		var got struct {
			Page           int
			Cells, Outside []string
		}
		measure(t, page, script, light, size, &got)
		if size == desktop && got.Page > 0 {
			t.Errorf("the page is %d pixels wider than the window", got.Page)
		}
		if len(got.Cells) > 0 || len(got.Outside) > 0 {
			t.Errorf("at %v: overflow of %q, outside the window are %q", size, got.Cells, got.Outside)
		}
	}
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

// WCAG 2.2, 1.4.3: text has a contrast of 4.5 to its background.
func TestTheTextCanBeRead(t *testing.T) {
	page := written(t)
	for _, as := range []theme{light, dark} {
		worst := map[string]float64{}
		measure(t, page, contrast, as, desktop, &worst)
		for what, is := range worst {
			t.Errorf("%s: %s has a contrast of %.2f", as, what, is)
		}
	}
}
