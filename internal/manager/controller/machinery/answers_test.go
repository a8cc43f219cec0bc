package machinery

import (
	"context"
	"errors"
	"net/http"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

func TestAnOutageIsToldFromAnErrorAboutOneCluster(t *testing.T) {
	etcd := apierrors.NewInternalError(errors.New("etcdserver: leader changed"))
	for _, err := range []error{
		apierrors.NewTooManyRequests("later", 1), apierrors.NewServiceUnavailable("down"), apierrors.NewTimeoutError("slow", 1), etcd,
		syscall.ECONNREFUSED, syscall.ECONNRESET, apierrors.NewServerTimeout(corev1.Resource("secrets"), "patch", 1),
	} {
		if !Unavailable(err) {
			t.Errorf("%v is no outage", err)
		}
	}
	for _, err := range []error{
		nil, context.Canceled, context.DeadlineExceeded, apierrors.NewConflict(corev1.Resource("x"), "c", errors.New("y")), apierrors.NewNotFound(corev1.Resource("x"), "c"),
		apierrors.NewForbidden(corev1.Resource("x"), "c", errors.New("no")), apierrors.NewInternalError(errors.New("failed calling webhook")),
		apierrors.NewGenericServerResponse(http.StatusBadGateway, "get", corev1.Resource("x"), "c", "", 0, true),
	} {
		if Unavailable(err) {
			t.Errorf("%v is an outage", err)
		}
	}
}
