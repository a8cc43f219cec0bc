package page

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/internal/cli/pictured"
	"github.com/fairlead-io/fairlead/internal/core/picture"
	"github.com/fairlead-io/fairlead/internal/core/picture/picturetest"
)

// served is the page of the operator about 300 clusters, one of which is worse off later.
func served(t *testing.T, later bool, etag string) []byte {
	t.Helper()
	in := picture.Input{Now: morning, OperatorNamespace: "fairlead-system"}
	in.Reports, in.Proxies, in.Clusters = picturetest.Fleet(300, morning)
	if later {
		for i := range in.Reports {
			if in.Reports[i].Name == "madrid-0002" {
				in.Clusters = append(in.Clusters[:i], in.Clusters[i+1:]...) // its Cluster is gone
			}
		}
	}
	var out bytes.Buffer
	controlplanetest.Require(t, pictured.Live(&out, picture.Of(in), etag))
	return out.Bytes()
}

// A browser without a token asks for one, shows the page under the page's own policy, and follows the fleet, while what its
// reader has typed, reached and scrolled to stays.
func TestAPageThatIsOpenFollowsTheFleetAndLeavesItsReaderInPeace(t *testing.T) {
	installed(t, browser)
	signIn, err := pictured.SignIn()
	controlplanetest.Require(t, err)
	pages := map[string][]byte{`W/"1"`: served(t, false, `W/"1"`), `W/"2"`: served(t, true, `W/"2"`)}
	var changed atomic.Bool
	var unchanged, refused atomic.Int32
	serve := func(w http.ResponseWriter, r *http.Request, scripted string) {
		etag := `W/"1"`
		if changed.Load() {
			etag = `W/"2"`
		}
		switch {
		case r.URL.Path == "/change":
			changed.Store(true)
		case r.Header.Get("Authorization") != "Bearer good":
			refused.Add(1)
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprint(w, scripted)
		case r.Header.Get("If-None-Match") == etag:
			unchanged.Add(1)
			w.WriteHeader(http.StatusNotModified)
		default:
			w.Header().Set("Content-Security-Policy", pictured.LivePolicy())
			_, _ = w.Write(pages[etag])
		}
	}
	const script = `
		const enter = token => { document.getElementById("token").value = token; document.getElementById("form").requestSubmit() }
		enter("bad")
		await until(() => document.getElementById("told").textContent)
		const told = document.getElementById("told").textContent
		enter("good")
		const now = () => document.documentElement.dataset
		await until(() => now().drawn === "n")
		await type("madrid")
		await until(() => Number(now().found) > 0 && Number(now().found) < 300)
		const tile = [...document.querySelectorAll(".tile")].find(one => one.title.startsWith("team-madrid/madrid-0002"))
		tile.focus()
		tile.scrollIntoView({block: "center"})
		await frame(); await frame()
		const top = () => Math.round(tile.getBoundingClientRect().top)
		const before = {was: tile.className, y: scrollY, top: top(), found: now().found}
		await until(() => document.getElementById("live").textContent.startsWith("Live:")) // once unchanged
		await fetch("/change")
		await until(() => tile.className !== before.was)
		await frame(); await frame()
		return {told, was: before.was, is: tile.className, label: tile.getAttribute("aria-label"), typed: document.getElementById("search").value,
			focused: document.activeElement === tile, moved: Math.abs(top() - before.top), scrolled: before.y > 0, found: now().found === before.found,
			problems: document.getElementById("problems-table").innerText, live: document.getElementById("live").textContent}`
	var got struct {
		Told, Was, Is, Label, Typed, Problems, Live string
		Focused, Scrolled, Found                    bool
		Moved                                       int
	}
	actOn(t, []byte(signIn), script, window{900, 500}, serve, &got)
	if got.Told != "This token is not valid, or the API server does not answer." || got.Was != "tile fine" || got.Is != "tile warning" || !strings.Contains(got.Label, "the Cluster does not exist") ||
		got.Typed != "madrid" || !got.Focused || !got.Scrolled || got.Moved > 2 || !got.Found || !strings.Contains(got.Problems, "Cluster/NotFound") || !strings.HasPrefix(got.Live, "Live:") {
		t.Errorf("%+v", got)
	}
	if unchanged.Load() == 0 || refused.Load() < 2 {
		t.Errorf("%d answers were 304, %d were 401", unchanged.Load(), refused.Load())
	}
}
