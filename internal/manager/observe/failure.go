package observe

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"syscall"

	"github.com/fairlead-io/fairlead/internal/core/probe"
)

// The results of a look, as the label "result".
const (
	resultReached      = "reached"
	resultTimeout      = "timeout"
	resultRefused      = "refused" // nobody listens
	resultLookup       = "lookup"  // the name of the API server is not known
	resultProxy        = "proxy"   // the one that the kubeconfig names
	resultCertificate  = "certificate"
	resultUnauthorized = "unauthorized"
	resultForbidden    = "forbidden"
	resultNotInstalled = "notInstalled"
	resultNoResult     = "noResult"   // the ConfigMap is empty: no probe has filled it yet
	resultKubeconfig   = "kubeconfig" // missing, or refused
	resultInvalid      = "invalid"    // what was read
	resultUnavailable  = "unavailable"
)

var results = []string{
	resultReached, resultTimeout, resultRefused, resultLookup, resultProxy, resultCertificate, resultUnauthorized, resultForbidden, resultNotInstalled,
	resultNoResult, resultKubeconfig, resultInvalid, resultUnavailable,
}

// failure is why a cluster's result was not read. The message is ours alone: with what a server answers, a tenant whose kubeconfig
// leads somewhere else could read from there.
type failure struct{ result, message string }

func (f *failure) Error() string { return f.message }

func ofStatus(code int) *failure {
	switch code {
	case http.StatusUnauthorized:
		return &failure{resultUnauthorized, "the API server does not accept the credentials of the kubeconfig: they are expired or revoked"}
	case http.StatusForbidden:
		return &failure{resultForbidden, "the user of the kubeconfig may not read it"}
	case http.StatusNotFound:
		return &failure{resultNotInstalled, fmt.Sprintf("the cluster has no ConfigMap %s: no probe runs there", probe.ConfigMapName)}
	}
	return &failure{resultUnavailable, fmt.Sprintf("the API server answers with status %d", code)}
}

// classify says why a request failed.
func classify(err error) *failure {
	var known *failure
	var verification *tls.CertificateVerificationError
	var operation *net.OpError
	var lookup *net.DNSError
	var network net.Error
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &operation) && operation.Op == "proxyconnect":
		return &failure{resultProxy, "the proxy of the kubeconfig does not let it through"}
	case errors.As(err, &verification):
		return &failure{resultCertificate, "the certificate of the API server is not valid: " + certificateProblem(verification)}
	case errors.As(err, &operation) && operation.Op == "remote error": // an alert, of a type that crypto/tls keeps for itself
		return &failure{resultCertificate, "the API server refuses the TLS connection, as with a client certificate that is expired or revoked"}
	case errors.As(err, &lookup):
		return &failure{resultLookup, "the host name of the API server is not found"}
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return &failure{resultTimeout, fmt.Sprintf("the API server does not answer within %s", timeout)}
	case errors.Is(err, syscall.ECONNREFUSED):
		return &failure{resultRefused, "nobody listens at the address of the API server"}
	}
	return &failure{resultUnavailable, "the connection to the API server fails"}
}

func certificateProblem(err error) string {
	var authority x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	switch {
	case errors.As(err, &authority):
		return "another authority than that of the kubeconfig signed it"
	case errors.As(err, &host):
		return "it is for another name"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "it has expired, or is not valid yet"
	}
	return "it is malformed"
}
