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
		a.flush()
	})
}

// asking replaces what is said to somebody who is not known. The filter of controller-runtime calls a token that the API
// server refuses, as an expired one, an error of its own (500): which of the two it is stands in the body.
type asking struct {
	http.ResponseWriter
	page             string // empty: not for a browser
	head, asked, put bool   // put: a status 500 is put off until the body says whose fault it is
}

const notKnown = "Authentication failed"

func (a *asking) WriteHeader(status int) {
	switch {
	case status == http.StatusInternalServerError:
		a.put = true
	case status == http.StatusUnauthorized && a.page != "":
		a.ask()
	default:
		a.ResponseWriter.WriteHeader(status)
	}
}

// flush sends what was put off.
func (a *asking) flush() {
	if a.put {
		a.put = false
		a.ResponseWriter.WriteHeader(http.StatusInternalServerError)
	}
}

func (a *asking) ask() {
	a.asked = true
	a.Header().Set("Content-Type", contentTypes[PagePath])
	a.Header().Del("Content-Length")
	a.ResponseWriter.WriteHeader(http.StatusUnauthorized)
	if !a.head {
		_, _ = a.ResponseWriter.Write([]byte(a.page)) // who has gone misses nothing
	}
}

func (a *asking) Write(body []byte) (int, error) {
	if a.put && strings.HasPrefix(string(body), notKnown) {
		a.put = false
		a.WriteHeader(http.StatusUnauthorized)
	}
	a.flush()
	if a.asked {
		return len(body), nil
	}
	return a.ResponseWriter.Write(body)
}
