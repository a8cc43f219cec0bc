package controlplane

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/fairlead-io/fairlead/e2e/ports"
	"github.com/fairlead-io/fairlead/e2e/process"
)

// Controllers that tests ask for most, by the names that kube-controller-manager gives them.
const (
	GarbageCollector       = "garbage-collector-controller"
	NamespaceDeletion      = "namespace-controller"
	ClusterRoleAggregation = "clusterrole-aggregation-controller"
	ServiceAccounts        = "serviceaccount-controller"
	ServiceAccountTokens   = "serviceaccount-token-controller"
	EndpointSlices         = "endpointslice-controller"
)

// StartControllerManager runs kube-controller-manager with the named controllers, or with those that it
// runs by default when none is named. The garbage collector looks for new CRDs only twice a minute:
// install them first where a test waits for it.
func (cp *ControlPlane) StartControllerManager(ctx context.Context, controllers ...string) error {
	path, err := findControllerManager(ctx, cp.options.Progress)
	if err != nil {
		return err
	}
	if len(controllers) == 0 {
		controllers = []string{"*"}
	}
	cp.mu.Lock()
	defer cp.mu.Unlock()
	if cp.controllerManager != nil {
		return errors.New("start kube-controller-manager: it runs already")
	}
	port, err := ports.Reserve()
	if err != nil {
		return err
	}
	cp.controllerManager, err = cp.Run(ctx, process.Spec{
		Name: "kube-controller-manager",
		Path: path,
		Args: []string{
			"--kubeconfig=" + cp.dir.adminKubeconfig(),
			"--controllers=" + strings.Join(controllers, ","),
			"--bind-address=127.0.0.1",
			"--secure-port=" + port.String(),
			"--cert-dir=" + cp.dir.file("kube-controller-manager"),
			"--leader-elect=false",
			fmt.Sprintf("--use-service-account-credentials=%t", cp.options.ControllerAccounts),
			"--service-account-private-key-file=" + cp.dir.serviceAccountKey(),
			"--root-ca-file=" + cp.dir.certificate(servingCA),
			"--profiling=false",
		},
		Ready: healthz("https://" + port.Address() + "/healthz"),
	})
	if err != nil {
		return errors.Join(err, port.Release())
	}
	cp.managerPort = port
	return nil
}

// healthz asks a server whose certificate it made itself a moment ago, and to which nothing is told.
func healthz(url string) func(context.Context) error {
	insecure := &http.Client{Transport: &http.Transport{
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true},
		DisableKeepAlives: true,
	}}
	return func(ctx context.Context) error {
		_, err := process.GetBy(ctx, insecure, url)
		return err
	}
}
