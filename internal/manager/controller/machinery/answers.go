package machinery

import (
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"syscall"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// IsAbsent reports whether the API server says of the object itself that it is not there. A CRD that is gone answers
// "not found", too.
func IsAbsent(err error, name string) bool {
	var status apierrors.APIStatus
	return apierrors.IsNotFound(err) && errors.As(err, &status) &&
		status.Status().Details != nil && status.Status().Details.Name == name &&
		!apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

// Unavailable reports whether an error says nothing about the object, but that the API server, or etcd behind it, does
// not answer for now.
func Unavailable(err error) bool {
	return err != nil && (apierrors.IsTooManyRequests(err) || apierrors.IsServiceUnavailable(err) || apierrors.IsServerTimeout(err) ||
		apierrors.IsTimeout(err) || etcdGone(err) || utilnet.IsConnectionRefused(err) || utilnet.IsConnectionReset(err) || utilnet.IsHTTP2ConnectionLost(err) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.EPIPE))
}

// etcdGone reports whether the API server says that etcd does not answer, which is an internal error like any other.
func etcdGone(err error) bool {
	return apierrors.IsInternalError(err) && (strings.Contains(err.Error(), "etcdserver:") || strings.Contains(err.Error(), "code = Unavailable"))
}

// The waits after an error about one cluster: each is twice the one before, with a jitter of a fifth.
const (
	firstErrorRetry = 100 * time.Millisecond
	LastErrorRetry  = 5 * time.Minute
)

// Retries returns the rate limiter of the queues. It has no bound for all clusters together, as the default has: after an
// outage that would hold the last of a large fleet back for minutes.
func Retries() workqueue.TypedRateLimiter[reconcile.Request] {
	return jittered{workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstErrorRetry, LastErrorRetry)}
}

type jittered struct {
	workqueue.TypedRateLimiter[reconcile.Request]
}

// When implements workqueue.TypedRateLimiter.
func (j jittered) When(request reconcile.Request) time.Duration {
	wait := j.TypedRateLimiter.When(request)
	return wait - rand.N(wait/5+1)
}

// AboutOne reports whether an error is the API server's answer about one object:
// whatever it is, others can go on. Not so if it answers nobody.
func AboutOne(err error) bool {
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) {
		return false
	}
	switch code := answer.Status().Code; code {
	case http.StatusUnauthorized, http.StatusRequestTimeout, http.StatusTooManyRequests:
		return false
	default:
		return code >= 400 && code < 500 || apierrors.IsInternalError(err) // as of a webhook that is gone
	}
}
