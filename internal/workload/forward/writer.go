package forward

import "net/http"

// writer writes an answer, as far as its client may have it.
type writer struct {
	http.ResponseWriter
	body    *body
	chunked bool // the request had no length
	old     bool // the request is HTTP/1.0
	expects bool // the request awaits 100 (Continue)
}

func writerOf(w http.ResponseWriter, r *http.Request, is *body) *writer {
	return &writer{w, is, len(r.TransferEncoding) > 0, !r.ProtoAtLeast(1, 1), r.Header.Get("Expect") != ""}
}

// Unwrap is for an [http.ResponseController].
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// drain is for an answer from here: nobody reads the body any more. One that awaits 100 (Continue) is not asked for.
func (w *writer) drain() {
	if !w.expects {
		w.body.drain()
	}
}

// WriteHeader leaves out interim answers to HTTP/1.0 (RFC 9110, section 15.2), and those that net/http could write into its own 100.
// It ends the connection with an answer that comes before the end of the body, whose rest would be read as a request; and where
// there was no length: there may have been one, too (RFC 9112, section 6.1).
func (w *writer) WriteHeader(status int) {
	interim := status < http.StatusOK
	if !interim && !w.chunked && !w.expects {
		w.body.settle()
	}
	switch {
	case interim && (w.old || w.expects && status != http.StatusContinue):
		return
	case !interim && (w.chunked || w.body.unread()):
		w.Header().Set("Connection", "close")
	}
	w.ResponseWriter.WriteHeader(status)
}
