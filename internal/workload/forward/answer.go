package forward

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"syscall"

	"github.com/fairlead-io/fairlead/internal/core/egress"
	"github.com/fairlead-io/fairlead/internal/workload/upstream"
)

// statuses of refusals; all others are 403.
var statuses = map[egress.Reason]int{
	egress.BadRequest: http.StatusBadRequest, egress.OddAddress: http.StatusBadRequest,
	egress.NotSupported: http.StatusNotImplemented, egress.Itself: http.StatusLoopDetected,
}

// proxyErrors are the nearest types of RFC 9209, section 2.3. The type of all other statuses is
// destination_unavailable.
var proxyErrors = map[int]string{
	http.StatusBadRequest: "http_request_error", http.StatusNotImplemented: "http_request_error", http.StatusForbidden: "http_request_denied",
	http.StatusLoopDetected: "proxy_loop_detected", http.StatusGatewayTimeout: "connection_timeout",
}

// failed answers a request that goes nowhere, in words that have no credential. The proxy's 407 is never a client's: it has
// no credential to send.
func (p *Proxy) failed(w http.ResponseWriter, r *http.Request, line access, err error) {
	if errors.Is(err, context.Canceled) && r.Context().Err() != nil || errors.Is(err, errBrokenOff) {
		w.WriteHeader(http.StatusBadGateway) // the client is gone, or has only ended its side: without this it would read 200
		return
	}
	if own, ok := w.(*writer); ok {
		own.drain()
	}
	status, result, way := classify(err)
	if line.decision != "" && way != "refused" {
		way = line.decision
	}
	if r.Method == http.MethodConnect {
		w.Header().Set("Connection", "close") // what comes behind it was for the tunnel, and is no request
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Proxy-Status", fmt.Sprintf("fairlead-relay; error=%s; details=%q", cmp.Or(proxyErrors[status], "destination_unavailable"), detail(result, err))) // RFC 9209
	w.WriteHeader(status)
	fmt.Fprintf(w, "fairlead-relay: %v\n", err)
	p.Observe(way, result)
	p.tell(line, r.RemoteAddr, status, err)
}

// notCarried answers for a ReverseProxy. The header of its request is what was sent to the company's proxy.
func (p *Proxy) notCarried(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, errSwitched) {
		return
	}
	is := r.Context().Value(key{}).(carried)
	p.failed(w, r, is.line, cmp.Or(is.body.refusal(), err))
}

func classify(err error) (status int, result, way string) {
	var refusal *egress.Refusal
	var theirs *upstream.Refusal
	var handshake *upstream.TLSError
	var network net.Error
	switch {
	case errors.As(err, &refusal):
		return cmp.Or(statuses[refusal.Reason], http.StatusForbidden), string(refusal.Reason), "refused"
	case errors.As(err, &theirs):
		return http.StatusBadGateway, fmt.Sprint(theirs.Status), "proxy"
	case errors.Is(err, upstream.ConnectTimeout), errors.As(err, &network) && network.Timeout():
		return http.StatusGatewayTimeout, "timeout", "proxy"
	case errors.As(err, &handshake):
		return http.StatusBadGateway, "tls", "proxy"
	case errors.Is(err, upstream.ErrBackoff):
		return http.StatusBadGateway, "backoff", "proxy"
	}
	return http.StatusBadGateway, "failed", "proxy"
}

// detail is the result, or of one that only says that something failed, what did.
func detail(result string, err error) string {
	var lookup *net.DNSError
	switch {
	case result != "failed":
		return result
	case errors.Is(err, syscall.ECONNREFUSED):
		return "refused"
	case errors.As(err, &lookup):
		return "lookup"
	case errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EHOSTUNREACH):
		return "no-route"
	}
	return result
}

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
