package controller

import (
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"syscall"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const (
	outagePause   = 300 * time.Millisecond // of a worker, when the API server does not answer
	longestOutage = 30 * time.Second       // of a cluster
)

// unavailable reports whether an error says nothing about the object, but that the API server, or etcd behind it, does
// not answer for now.
func unavailable(err error) bool {
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
	lastErrorRetry  = 5 * time.Minute
)

// retries is the rate limiter of the queues. It has no bound for all clusters together, as the default has: after an
// outage that would hold the last of a large fleet back for minutes.
func retries() workqueue.TypedRateLimiter[reconcile.Request] {
	return jittered{workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstErrorRetry, lastErrorRetry)}
}

type jittered struct {
	workqueue.TypedRateLimiter[reconcile.Request]
}

func (j jittered) When(request reconcile.Request) time.Duration {
	wait := j.TypedRateLimiter.When(request)
	return wait - rand.N(wait/5+1)
}
