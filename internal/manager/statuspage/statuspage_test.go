package statuspage

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"

	"github.com/fairlead-io/fairlead/internal/core/picture"
	"github.com/fairlead-io/fairlead/internal/core/picture/picturetest"
)

var start = time.Date(2026, 11, 24, 10, 0, 0, 0, time.UTC)

// world is a fleet whose clock and content a test sets.
type world struct {
	*fleet
	looks, renderings atomic.Int32
	clock             atomic.Int64 // seconds since start
	content           atomic.Value
	err               atomic.Value
}

func newWorld() *world {
	w := &world{}
	w.content.Store("one")
	w.err.Store("")
	w.fleet = &fleet{
		log: logr.Discard(),
		now: func() time.Time { return start.Add(time.Duration(w.clock.Load()) * time.Second) },
		look: func(context.Context) (looked, error) {
			w.looks.Add(1)
			if text := w.err.Load().(string); text != "" {
				return looked{}, errors.New(text)
			}
			return looked{digest: w.content.Load().(string)}, nil
		},
		texts: Texts{Policy: "default-src 'none'", SignIn: "<form>", Page: func(out io.Writer, _ picture.Picture, etag string) error {
			w.renderings.Add(1)
			_, err := fmt.Fprintf(out, "<p>the fleet %s", etag)
			return err
		}},
	}
	return w
}

func (w *world) ask(method, path string, headers ...string) *http.Response {
	r := httptest.NewRequest(method, path, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	recorder := httptest.NewRecorder()
	guarded(w.texts, w.fleet).ServeHTTP(recorder, r)
	return recorder.Result()
}

func body(t *testing.T, answer *http.Response) string {
	t.Helper()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestWhoHasSeenItGets304UntilSomethingChanges(t *testing.T) {
	w := newWorld()
	for _, path := range []string{PagePath, JSONPath} {
		first := w.ask("GET", path)
		etag := first.Header.Get("ETag")
		if first.StatusCode != 200 || etag == "" || first.Header.Get("Content-Type") != contentTypes[path] {
			t.Fatalf("%s: %v", path, first)
		}
		if again := w.ask("GET", path, "If-None-Match", etag); again.StatusCode != 304 || body(t, again) != "" {
			t.Errorf("%s: %v", path, again)
		}
	}
	w.content.Store("two")
	if soon := w.ask("GET", PagePath, "If-None-Match", `W/"one"`); soon.StatusCode != 304 {
		t.Errorf("it looked again at once: %v", soon)
	}
	w.clock.Add(int64(every / time.Second))
	if later := w.ask("GET", PagePath, "If-None-Match", `W/"one"`); later.StatusCode != 200 || body(t, later) != `<p>the fleet W/"two"` {
		t.Errorf("%v", later)
	}
}

func TestAThousandReadersAreOneLookAndOneRendering(t *testing.T) {
	w := newWorld()
	var all sync.WaitGroup
	for range 1000 {
		all.Go(func() {
			if answer := w.ask("GET", PagePath); answer.StatusCode != 200 {
				t.Errorf("%v", answer)
			}
		})
	}
	all.Wait()
	w.clock.Add(60)
	w.ask("GET", PagePath)
	if w.looks.Load() != 2 || w.renderings.Load() != 1 {
		t.Errorf("%d looks, %d renderings", w.looks.Load(), w.renderings.Load())
	}
}

func TestAReaderWhoLeavesTakesTheAnswerFromNobody(t *testing.T) {
	w := newWorld()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var seen error
	w.look = func(ctx context.Context) (looked, error) { seen = ctx.Err(); return looked{digest: "one"}, nil }
	if _, _, err := w.answer(ctx, PagePath); err != nil || seen != nil {
		t.Error(err, seen)
	}
}

func TestItCanOnlyBeRead(t *testing.T) {
	w := newWorld()
	for _, method := range []string{"POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"} {
		if answer := w.ask(method, PagePath); answer.StatusCode != 405 || answer.Header.Get("Allow") != "GET, HEAD" {
			t.Errorf("%s: %v", method, answer)
		}
	}
	if w.looks.Load() != 0 {
		t.Error("it looked")
	}
	if head := w.ask("HEAD", PagePath); head.StatusCode != 200 || head.Header.Get("ETag") == "" || body(t, head) != "" {
		t.Errorf("%v", head)
	}
}

func TestEachAnswerSaysWhatABrowserMayDoWithIt(t *testing.T) {
	w := newWorld()
	w.err.Store("password in an error")
	for _, answer := range []*http.Response{w.ask("GET", PagePath), w.ask("POST", JSONPath)} {
		for name, want := range map[string]string{
			"Content-Security-Policy": "default-src 'none'", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff",
			"X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer", "Cross-Origin-Resource-Policy": "same-origin", "Cross-Origin-Opener-Policy": "same-origin",
		} {
			if got := answer.Header.Get(name); got != want {
				t.Errorf("%d: %s is %q", answer.StatusCode, name, got)
			}
		}
	}
	if answer := w.ask("GET", PagePath); answer.StatusCode != 503 || strings.Contains(body(t, answer), "password") {
		t.Errorf("%v", answer)
	}
}

func TestABrowserWithoutATokenIsAskedForOneAndOthersAreNot(t *testing.T) {
	texts := newWorld().texts
	unknown := guarded(texts, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "Unauthorized", http.StatusUnauthorized) }))
	for accept, want := range map[string]string{"text/html,*/*": "<form>", "*/*": "Unauthorized\n"} {
		for _, method := range []string{"GET", "HEAD"} {
			r := httptest.NewRequest(method, PagePath, nil)
			r.Header.Set("Accept", accept)
			recorder := httptest.NewRecorder()
			unknown.ServeHTTP(recorder, r)
			got := recorder.Body.String()
			if recorder.Code != 401 || method == "GET" && got != want || strings.HasPrefix(accept, "text") && recorder.Header().Get("Content-Type") != contentTypes[PagePath] {
				t.Errorf("%s %s: %d %q %v", method, accept, recorder.Code, got, recorder.Header())
			}
		}
	}
}

func TestWhoTakesGzipGetsIt(t *testing.T) {
	w := newWorld()
	for accept, want := range map[string]string{"br, gzip": "gzip", "gzip;q=0": "", "": "", "gzip; q=0.5": "gzip"} {
		answer := w.ask("GET", PagePath, "Accept-Encoding", accept)
		text := body(t, answer)
		if want == "gzip" {
			zip, err := gzip.NewReader(strings.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			all, err := io.ReadAll(zip)
			if err != nil {
				t.Fatal(err)
			}
			text = string(all)
		}
		if answer.Header.Get("Content-Encoding") != want || text != `<p>the fleet W/"one"` {
			t.Errorf("%q: %v %q", accept, answer.Header, text)
		}
	}
}

// What passes is time, and not news; a report that is written is.
func TestOnlyWhatAReaderSeesIsAnother(t *testing.T) {
	of := func(now time.Time, change func(*picture.Input)) string {
		in := picture.Input{OperatorNamespace: "fairlead-system"}
		in.Reports, in.Proxies, in.Clusters = picturetest.Fleet(40, start)
		in.Now = now
		change(&in)
		text, err := digest(picture.Of(in))
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	nothing := func(*picture.Input) {}
	was := of(start, nothing)
	if of(start.Add(time.Minute), nothing) != was {
		t.Error("a minute is news")
	}
	if of(start.Add(aging), nothing) == was {
		t.Error("ages do not grow")
	}
	for what, change := range map[string]func(*picture.Input){
		"a report":  func(in *picture.Input) { in.Reports[3].ResourceVersion = "2" },
		"a cluster": func(in *picture.Input) { in.Reports, in.Clusters = in.Reports[1:], in.Clusters[1:] },
		"a proxy":   func(in *picture.Input) { in.Proxies = in.Proxies[1:] },
	} {
		if of(start, change) == was {
			t.Errorf("%s is no news", what)
		}
	}
}

// What is kept is compressed.
func TestFiveThousandClustersAreKeptInAMegabyte(t *testing.T) {
	in := picture.Input{Now: start}
	in.Reports, in.Proxies, in.Clusters = picturetest.Fleet(5000, start)
	w := newWorld()
	w.look = func(context.Context) (looked, error) { return looked{picture: picture.Of(in), digest: "x"}, nil }
	w.ask("GET", JSONPath)
	kept := len(w.bodies[JSONPath])
	if kept == 0 || kept > 1<<20 {
		t.Errorf("%d bytes", kept)
	}
	var got picture.Picture
	if err := json.Unmarshal([]byte(body(t, w.ask("GET", JSONPath))), &got); err != nil || len(got.Clusters) != 5000 {
		t.Error(err, len(got.Clusters))
	}
}
