package statuspage

import (
	"net/http"
	"strings"
)

// guarded lets only questions through, says with each answer what a browser may do with it, and has a browser without a
// token asked for one.
func guarded(texts Texts, inner http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", texts.Policy)
		h.Set("Cache-Control", "no-store")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			h.Set("Allow", "GET, HEAD")
			http.Error(w, "it can only be read", http.StatusMethodNotAllowed)
			return
		}
		a := &asking{ResponseWriter: w, head: r.Method == http.MethodHead}
		if r.URL.Path == PagePath && strings.Contains(r.Header.Get("Accept"), "text/html") {
			a.page = texts.SignIn
		}
		inner.ServeHTTP(a, r)
	})
}

// asking replaces the answer to somebody who is not known.
type asking struct {
	http.ResponseWriter
	page        string // empty: not for a browser
	head, asked bool
}

func (a *asking) WriteHeader(status int) {
	if status != http.StatusUnauthorized || a.page == "" {
		a.ResponseWriter.WriteHeader(status)
		return
	}
	a.asked = true
	a.Header().Set("Content-Type", contentTypes[PagePath])
	a.Header().Del("Content-Length")
	a.ResponseWriter.WriteHeader(status)
	if !a.head {
		_, _ = a.ResponseWriter.Write([]byte(a.page)) // who has gone misses nothing
	}
}

func (a *asking) Write(body []byte) (int, error) {
	if a.asked {
		return len(body), nil
	}
	return a.ResponseWriter.Write(body)
}
