package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/operator"
	"github.com/fairlead-io/fairlead/e2e/tools"
)

//go:embed example.yaml
var example []byte

const namespace = "org-acme"

var names = []string{"mycluster", "frankfurt"}

func demo(ctx context.Context) (err error) {
	began, keep := time.Now(), os.Getenv("KEEP") == "1"
	options := controlplane.Options{Progress: os.Stdout, KeepRunning: keep}
	if keep {
		options.Dir = keptDir()
	}
	s := &stage{}
	if err := s.step("build what is not built yet", func() error { return build(ctx) }); err != nil {
		return err
	}
	err = s.step("start etcd, kube-apiserver and kube-controller-manager", func() error {
		s.cp, err = controlplane.Start(ctx, options)
		if err == nil {
			err = s.cp.StartControllerManager(ctx, controlplane.GarbageCollector, controlplane.ClusterRoleAggregation)
		}
		return err
	})
	if s.cp != nil {
		defer func() { err = errors.Join(err, s.end(keep && err == nil)) }()
	}
	if err != nil {
		return err
	}
	if err := s.show(ctx); err != nil {
		return err
	}
	fmt.Printf("\nDone in %.0f s.\n", time.Since(began).Seconds())
	return nil
}

// build makes the programs before the clock of the demo itself starts.
func build(ctx context.Context) error {
	for _, tool := range []tools.Tool{tools.Etcd, tools.KubeAPIServer, tools.KubeControllerManager} {
		if _, err := tools.Build(ctx, tool, os.Stdout); err != nil {
			return err
		}
	}
	_, err := tools.Program(ctx, "fairlead-operator")
	return err
}

// stage is the running demo.
type stage struct {
	cp       *controlplane.ControlPlane
	operator *operator.Operator
	client   client.Client
}

// step prints what is done, does it, and prints how long it took.
func (s *stage) step(what string, do func() error) error {
	fmt.Printf("==> %s\n", what)
	began := time.Now()
	if err := do(); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	fmt.Printf("    %.1f s\n", time.Since(began).Seconds())
	return nil
}

func (s *stage) show(ctx context.Context) error {
	steps := []struct {
		what string
		do   func() error
	}{
		{"install the CRDs of Cluster API and Fairlead, the operator's permissions and its cage", func() error { return s.install(ctx) }},
		{"start the operator, as its own service account", func() (err error) {
			s.operator, err = operator.Start(ctx, s.cp, operator.Options{Args: []string{"--leader-elect=false"}})
			return err
		}},
		{"apply the example: one Secret, one CorporateProxy, two Clusters", func() error {
			if err := s.cp.Apply(ctx, example); err != nil {
				return err
			}
			return s.await(ctx, "example.com")
		}},
		{"what came out", func() error { return s.print(ctx) }},
		{"change noProxy of the installation: add mirror.corp.example", func() error {
			if err := s.change(ctx, "172.16.0.0/16,internal.corpdomain.net,example.com,mirror.corp.example"); err != nil {
				return err
			}
			return s.await(ctx, "mirror.corp.example")
		}},
		{"both clusters have followed", func() error { return s.printNoProxy(ctx) }},
	}
	for _, step := range steps {
		if err := s.step(step.what, step.do); err != nil {
			return err
		}
	}
	return nil
}

func (s *stage) install(ctx context.Context) (err error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return err
	}
	if s.client, err = client.New(s.cp.Admin(), client.Options{Scheme: scheme}); err != nil {
		return err
	}
	dir, err := tools.ModuleDir(ctx, "provider-crds", "sigs.k8s.io/cluster-api-provider-aws/v2")
	if err != nil {
		return err
	}
	aws, err := os.ReadFile(filepath.Join(dir, "config/crd/bases/infrastructure.cluster.x-k8s.io_awsclusters.yaml"))
	if err != nil {
		return err
	}
	return errors.Join(s.cp.Apply(ctx, aws), operator.Install(ctx, s.cp))
}

// await returns when both clusters have the entry.
func (s *stage) await(ctx context.Context, entry string) error {
	return wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		for _, name := range names {
			report := &v1alpha1.ProxyReport{}
			err := s.client.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, report)
			if client.IgnoreNotFound(err) != nil {
				return false, err
			}
			if !strings.Contains(","+report.Status.NoProxy.Go+",", ","+entry+",") {
				return false, nil
			}
		}
		return true, nil
	})
}

func (s *stage) change(ctx context.Context, noProxy string) error {
	source := &corev1.Secret{}
	if err := s.client.Get(ctx, types.NamespacedName{Namespace: operator.Namespace, Name: "corporate-proxy"}, source); err != nil {
		return err
	}
	source.StringData = map[string]string{"noProxy": noProxy}
	return s.client.Update(ctx, source)
}

// end stops everything, or says how to use what is kept.
func (s *stage) end(keep bool) error {
	if keep {
		fmt.Printf("\nEverything keeps running. Look around:\n\n    export KUBECONFIG=%s\n    kubectl get proxyreports -A\n\nEnd it with:\n\n    make demo-stop\n", s.cp.AdminKubeconfig())
		return nil
	}
	var errs []error
	if s.operator != nil && s.operator.Process != nil {
		errs = append(errs, s.operator.Stop())
	}
	return errors.Join(append(errs, s.cp.Stop())...)
}
