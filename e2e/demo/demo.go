package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/kyverno"
	"github.com/fairlead-io/fairlead/e2e/operator"
	"github.com/fairlead-io/fairlead/e2e/process"
	"github.com/fairlead-io/fairlead/e2e/tools"
)

// Where the charts are installed, the Clusters live, and somebody's programs run.
const (
	system   = "fairlead-system"
	clusters = "org-acme"
	shop     = "shop"
	tunnels  = "open-cluster-management-cluster-proxy"

	valuesFile  = "examples/secret-values.yaml"
	clusterFile = "examples/cluster.yaml"
)

// names are those of the Clusters.
var names = []string{"mycluster", "frankfurt"}

// stage is the running demo.
type stage struct {
	*screen
	keep    bool
	hasNode bool     // one that outlives this process runs the Deployments
	answers []string // to examples
	cp      *controlplane.ControlPlane
	client  client.Client

	running running

	begun, controllers, kyverno func(context.Context) error // await them
	hasStarted                  bool                        // the control plane; cp is set beside the first steps
	starting                    sync.WaitGroup              // what starts beside a step
	changed                     string                      // the values file of the upgrade
	entries                     map[string][]string
	asked                       string // of fairlead
	answer                      string
	rotation                    rotation

	third        *controlplane.ControlPlane // the workload cluster's own
	thirdStarted func(context.Context) error
	provisioned  func(context.Context) error
	inThird      client.Client
	wired        [2]map[string]wiring // by kind, before the label and after it
	content      [2]content
	copied       *corev1.Secret // of the variables, in the third cluster
	readers      map[reader]int
}

// demo shows everything, and ends it again, or says how to use what is kept.
func demo(ctx context.Context, on *screen, keep bool) (err error) {
	began := time.Now()
	s := &stage{screen: on, keep: keep}
	steps := s.steps()
	if keep {
		steps = append(steps, act{"put kubectl, helm and fairlead into one folder", s.link, nothing})
		s.total = len(steps)
	} else {
		steps = append(steps, s.unlessKept()...)
		s.total = len(steps) + 1
	}
	ctx, cancel := context.WithCancel(ctx)
	for _, step := range steps {
		if err = s.step(step.what, func() error { return step.do(ctx) }); err == nil {
			err = step.show(ctx)
		}
		if err != nil {
			break
		}
	}
	interrupted := ctx.Err() != nil
	cancel()
	switch {
	case interrupted:
		if err := s.end(); err != nil {
			return err
		}
		return fmt.Errorf("interrupted; nothing is left: %w", context.Canceled)
	case err != nil:
		return errors.Join(err, s.end())
	case keep:
		s.explainKept()
	default:
		if err := s.step("take everything down", s.end); err != nil {
			return err
		}
	}
	fmt.Fprintf(s.out, "\nThe demo took %s.\n", s.seconds(time.Since(began)))
	return nil
}

// act is a step: what it does is timed, what it shows is not.
type act struct {
	what string
	do   func(context.Context) error
	show func(context.Context) error
}

func (s *stage) steps() []act {
	return []act{
		{"build fairlead, the command line", s.build, nothing},
		{"ask it what a cluster gets: that needs no cluster", s.askWithoutCluster, s.showAnswers},
		{"start etcd and kube-apiserver", s.awaitControlPlane, s.showControlPlane},
		{"Cluster API: two Clusters, on vSphere and AWS", s.applyClusters, s.showClusters},
		{"install the chart fairlead, as a config repository would", s.installFairlead, s.showFairlead},
		{"start the operator as its Deployment says", s.startOperator, s.showDeployment("fairlead-operator")},
		{"what it has written: reports, and two Secrets for each cluster", nothing, s.showSecrets},
		{"change noProxy in one place: both clusters follow", s.upgrade, s.showUpgrade},
		{"ask which clients of mycluster use the proxy", s.explain, s.showAnswer},
		{"await Kyverno, which has been starting", func(ctx context.Context) error { return s.kyverno(ctx) }, nothing},
		{"install the chart fairlead-policies, with mycluster's values", s.installPolicies, s.showPolicies},
		{"start the replicator as its Deployment says", s.startReplicator, s.showReplicator},
		{"create a pod: Kyverno applies the policy", s.createPod, s.showPod},
		{"create the agent of a reverse tunnel", s.createAgent, s.showAgent},
		{"ask which pods the policies have not reached", s.pods, s.showAnswer},
	}
}

// unlessKept is for a demo that ends: the third cluster's API server and the stand-in for the company's proxy end with it.
func (s *stage) unlessKept() []act {
	return []act{
		{"a third cluster, and the controllers of Cluster API", s.startThird, s.showThird},
		{"prepare once, for clusters with a label", s.prepare, s.showPrepared},
		{"give the third cluster the label, and nothing else", s.label, s.showLabel},
		{"create a pod in the third cluster", s.createThirdPod, s.showThirdPod},
		{"ask who has read its kubeconfig", s.sweep, s.showSweep},
		{"change carry to Relay: pods name a relay, and no password", s.useRelay, s.showRelay},
		{"change the password while a pod's program asks", s.rotate, s.showRotation},
	}
}

func nothing(context.Context) error { return nil }

// startControlPlane starts it, and then what is to run beside the steps.
func (s *stage) startControlPlane(ctx context.Context) (err error) {
	options := controlplane.Options{
		KeepRunning: s.keep, AuditPolicy: []byte(auditReads), Progress: s.screen,
		Content: append(slices.Clone(kyverno.Content), controlplane.ClusterAPI),
	}
	if s.keep {
		options.Dir = keptDir()
	}
	if s.cp, err = controlplane.Start(ctx, options); err != nil {
		return err
	}
	s.running.add(s.cp)
	if s.client, err = client.New(s.cp.Admin(), client.Options{Scheme: operator.Scheme}); err != nil {
		return err
	}
	s.controllers = s.meanwhile(func() error { return s.startControllers(ctx) })
	s.kyverno = s.meanwhile(func() error {
		return s.running.take(kyverno.Start(ctx, s.cp, kyverno.Options{Progress: s.screen}))
	})
	return nil
}

// awaitControlPlane returns when it has started.
func (s *stage) awaitControlPlane(ctx context.Context) (err error) {
	s.await("the builds of etcd and kube-apiserver", func() {
		err = tools.BuildAll(ctx, []tools.Tool{tools.Etcd, tools.KubeAPIServer}, s.screen)
	})
	if err == nil {
		err = s.begun(ctx)
	}
	s.hasStarted = err == nil
	return err
}

// startControllers starts the controller that fills aggregated ClusterRoles, of which the operator has one. Who looks around,
// and makes a namespace, gets kube-controller-manager.
func (s *stage) startControllers(ctx context.Context) error {
	if s.keep {
		return s.cp.StartControllerManager(ctx, controlplane.GarbageCollector, controlplane.ClusterRoleAggregation,
			controlplane.NamespaceDeletion, controlplane.ServiceAccounts)
	}
	path, err := tools.Build(ctx, tools.Aggregate, s.screen)
	if err != nil {
		return err
	}
	return s.running.take(s.cp.Run(ctx, process.Spec{
		Name: tools.Aggregate.Name, Path: path, Args: []string{s.cp.AdminKubeconfig()}, Ready: s.hasAggregated,
	}))
}

// hasAggregated returns nil once Kubernetes's own ClusterRole admin, which is aggregated, has rules.
func (s *stage) hasAggregated(ctx context.Context) error {
	role := &rbacv1.ClusterRole{}
	if err := s.client.Get(ctx, client.ObjectKey{Name: "admin"}, role); err != nil {
		return err
	}
	if len(role.Rules) == 0 {
		return errors.New("the ClusterRole admin has no rules yet")
	}
	return nil
}

func (s *stage) showControlPlane(context.Context) error {
	s.say("Real programs, no cluster of yours: everything is on the loopback interface, and below %s.", s.cp.Dir())
	s.say("One API server plays both parts here, management cluster and mycluster. Others start meanwhile.")
	return nil
}

// beginThird has what the third cluster needs start beside what comes next.
func (s *stage) beginThird(ctx context.Context) {
	s.thirdStarted = s.meanwhile(func() error {
		return together(
			func() (err error) {
				if s.third, err = controlplane.Start(ctx, controlplane.Options{AuditPolicy: []byte(noAudit)}); err == nil {
					s.running.add(s.third)
				}
				return err
			},
			func() error { return s.startClusterAPI(ctx) },
		)
	})
}

// meanwhile does something beside what comes next, and returns what awaits it.
func (s *stage) meanwhile(do func() error) (await func(context.Context) error) {
	done := make(chan error, 1)
	s.starting.Go(func() { done <- do() })
	return func(ctx context.Context) error {
		select {
		case err := <-done:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// end stops everything, and leaves no file. What is starting has been told to stop by then, if it is still awaited.
func (s *stage) end() error {
	s.starting.Wait()
	return s.running.stop()
}

// programsFolder is for the PATH.
func (s *stage) programsFolder() string { return filepath.Join(s.cp.Dir(), "bin") }

func (s *stage) link(ctx context.Context) error { return tools.Link(ctx, s.programsFolder(), s.screen) }

func (s *stage) explainKept() {
	s.say("\nEverything keeps running. There are no nodes: only Fairlead's own Deployments run. To look around:\n")
	s.say("    export PATH=%s:$PATH KUBECONFIG=%s", s.programsFolder(), s.cp.AdminKubeconfig())
	s.say(`    kubectl get proxyreports -A
    kubectl get secret -n %[1]s %[2]s-cluster-values -o go-template='{{.data.values | base64decode}}'
    kubectl get pod -n shop web -o yaml
    kubectl run -n shop mine --image=registry.example/mine:1 --dry-run=server -o yaml
    fairlead pods -A --all

End it with:

    make demo-stop`, clusters, names[0])
}

// write makes a file beside the control plane's, which goes with them.
func (s *stage) write(name string, content []byte) (string, error) {
	path := filepath.Join(s.cp.Dir(), name)
	return path, os.WriteFile(path, content, 0o600)
}
