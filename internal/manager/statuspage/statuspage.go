// Package statuspage serves how the fleet stands beside the operator's metrics: as a page, and as the JSON of "fairlead
// status -o json". It renders what the operator's caches hold, when somebody asks, at most once in a while for all who do,
// and keeps nothing but the last answer.
package statuspage

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"

	"github.com/fairlead-io/fairlead/internal/core/picture"
)

// The paths that are served.
const (
	PagePath = "/status"
	JSONPath = "/status.json"
)

// every is how long an answer is good for: whoever asks in between gets the same.
const every = 5 * time.Second

// patience is how long a rendering may take.
const patience = time.Minute

// Texts writes the pages.
type Texts struct {
	Page   func(out io.Writer, p picture.Picture, etag string) error
	SignIn string // for a browser that has no token yet
	Policy string // Content-Security-Policy of both
}

// looked is the state of the fleet, with a digest of the content that a reader sees.
type looked struct {
	picture picture.Picture
	digest  string
}

// fleet has the last answer. Both texts are compressed: 5,000 clusters are some hundred kilobytes.
type fleet struct {
	look  func(context.Context) (looked, error)
	texts Texts
	now   func() time.Time
	log   logr.Logger

	mutex  sync.Mutex
	at     time.Time // of the last look
	etag   string
	bodies map[string][]byte // by path
}

// answer looks again if the last answer is old, and renders only what has changed. Others who ask wait for it.
func (f *fleet) answer(ctx context.Context, path string) ([]byte, string, error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if f.bodies == nil || f.now().Sub(f.at) >= every {
		if err := f.refresh(ctx); err != nil {
			return nil, "", err
		}
	}
	return f.bodies[path], f.etag, nil
}

func (f *fleet) refresh(ctx context.Context) error {
	// It is for all who wait: the first of them may go away.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	seen, err := f.look(ctx)
	if err != nil {
		return err
	}
	if etag := `W/"` + seen.digest + `"`; etag != f.etag {
		page, err := compressed(func(out io.Writer) error { return f.texts.Page(out, seen.picture, etag) })
		if err != nil {
			return err
		}
		object, err := compressed(func(out io.Writer) error { return json.NewEncoder(out).Encode(seen.picture) })
		if err != nil {
			return err
		}
		f.etag, f.bodies = etag, map[string][]byte{PagePath: page, JSONPath: object}
	}
	f.at = f.now()
	return nil
}

func compressed(write func(io.Writer) error) ([]byte, error) {
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	err := errors.Join(write(zip), zip.Close())
	return bytes.Clone(out.Bytes()), err
}

// ServeHTTP answers with what is known. Whoever has seen it gets 304.
func (f *fleet) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, etag, err := f.answer(r.Context(), r.URL.Path)
	if err != nil {
		f.log.Error(err, "The status page cannot be rendered")
		w.Header().Set("Retry-After", "10")
		http.Error(w, "the fleet cannot be read now; the operator's log has the reason", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", contentTypes[r.URL.Path])
	w.Header().Set("ETag", etag)
	w.Header().Add("Vary", "Accept-Encoding")
	if takesGzip(r) {
		w.Header().Set("Content-Encoding", "gzip")
	} else if body, err = plain(body); err != nil {
		http.Error(w, "the page cannot be read", http.StatusInternalServerError)
		return
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
}

var contentTypes = map[string]string{PagePath: "text/html; charset=utf-8", JSONPath: "application/json"}

func takesGzip(r *http.Request) bool {
	for one := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		if name, quality, _ := strings.Cut(strings.TrimSpace(one), ";"); name == "gzip" && strings.TrimSpace(quality) != "q=0" {
			return true
		}
	}
	return false
}

func plain(body []byte) ([]byte, error) {
	zip, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(zip)
}
