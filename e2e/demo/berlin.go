package main

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/e2e/clusterapi"
	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/deployment"
	"github.com/fairlead-io/fairlead/e2e/tools"
)

var (
	//go:embed class.yaml
	classYAML []byte
	//go:embed berlin.yaml
	berlinYAML []byte
)

const (
	third      = "berlin"
	dockerCRDs = "infrastructure/docker/config/crd/bases/infrastructure.cluster.x-k8s.io_docker%s.yaml"
)

var (
	deliverCommand  = []string{"upgrade", "fairlead", "charts/fairlead", "-n", system, "--reset-then-reuse-values", "--set=deliver.enabled=true"}
	templateCommand = []string{"template", "fairlead-policies", "charts/fairlead-policies", "-n", system, "--set=engine=Native", "--set=source.existing=true"}
	bundleCommand   = []string{"render", "bundle", "-f", "-", "--selector", v1alpha1.DeliverLabel, "-n", clusters}
)

// startClusterAPI starts Cluster API's controllers, and gives them the class.
func (s *stage) startClusterAPI(ctx context.Context) error {
	if err := s.installDocker(ctx); err != nil {
		return err
	}
	options := clusterapi.Options{FeatureGates: []string{clusterapi.ClusterTopology}, Progress: s.screen}
	if err := s.running.take(clusterapi.StartCore(ctx, s.cp, options)); err != nil {
		return err
	}
	return s.cp.Apply(ctx, classYAML)
}

// startThird creates the third cluster, whose API server and controllers have been starting meanwhile.
func (s *stage) startThird(ctx context.Context) (err error) {
	if err := s.thirdStarted(ctx); err != nil {
		return err
	}
	if s.inThird, err = client.New(s.third.Admin(), client.Options{Scheme: s.client.Scheme()}); err != nil {
		return err
	}
	return s.createThird(ctx)
}

// installDocker installs the kinds of the infrastructure, as that provider's kustomization labels them.
func (s *stage) installDocker(ctx context.Context) error {
	dir, err := tools.ModuleDir(ctx, "provider-crds", "sigs.k8s.io/cluster-api/test")
	if err != nil {
		return err
	}
	for _, kind := range []string{"clusters", "clustertemplates", "machines", "machinetemplates"} {
		text, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf(dockerCRDs, kind)))
		if err != nil {
			return err
		}
		crds, err := controlplane.Parse(text)
		if err != nil {
			return err
		}
		for _, crd := range crds {
			crd.SetLabels(map[string]string{"cluster.x-k8s.io/v1beta2": "v1beta2"})
		}
		if err := s.cp.ApplyObjects(ctx, crds...); err != nil {
			return err
		}
	}
	return nil
}

// createThird makes the Cluster, and plays the providers that do not run: its infrastructure is there, and so is the
// kubeconfig that a control plane provider writes for Cluster API.
func (s *stage) createThird(ctx context.Context) error {
	kubeconfig, err := os.ReadFile(s.third.AdminKubeconfig())
	if err != nil {
		return err
	}
	if err := s.client.Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: clusters, Name: third + "-kubeconfig", Labels: map[string]string{clusterv1.ClusterNameLabel: third}},
		Type:       clusterv1.ClusterSecretType, Data: map[string][]byte{"value": kubeconfig},
	}); err != nil {
		return err
	}
	if err := s.cp.Apply(ctx, berlinYAML); err != nil {
		return err
	}
	s.provisioned = s.meanwhile(func() error { return poll(ctx, "the infrastructure of "+third, s.provision) })
	return nil
}

func (s *stage) provision(ctx context.Context) (bool, error) {
	made := &unstructured.UnstructuredList{}
	made.SetGroupVersionKind(schema.GroupVersionKind{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta2", Kind: "DockerClusterList"})
	if err := s.client.List(ctx, made, client.InNamespace(clusters)); err != nil || len(made.Items) == 0 {
		return false, err
	}
	docker := &made.Items[0]
	endpoint := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"controlPlaneEndpoint":{"host":"192.0.2.20","port":6443}}}`))
	if err := s.client.Patch(ctx, docker, endpoint); err != nil {
		return false, err
	}
	ready := client.RawPatch("application/merge-patch+json", []byte(`{"status":{"initialization":{"provisioned":true}}}`))
	return true, s.client.Status().Patch(ctx, docker, ready)
}

func (s *stage) showThird(context.Context) error {
	s.say("%s/%s has a ClusterClass, and an API server of its own. Cluster API's own controllers run.", clusters, third)
	s.say("No provider runs: the demo says in its place that there is infrastructure, and there are no nodes.")
	return nil
}

// prepare runs the steps that a platform team does once for all clusters that will have the label.
func (s *stage) prepare(ctx context.Context) error {
	return together(
		func() error {
			if _, err := s.run(ctx, nil, "helm", deliverCommand...); err != nil {
				return err
			}
			return s.running.take(deployment.Start(ctx, s.cp, system, "fairlead-deliver"))
		},
		func() error {
			rendered, err := s.run(ctx, nil, "helm", templateCommand...)
			if err != nil {
				return err
			}
			bundle, err := s.run(ctx, []byte(rendered), "fairlead", bundleCommand...)
			if err != nil {
				return err
			}
			return s.cp.Apply(ctx, []byte(bundle))
		},
	)
}

func (s *stage) showPrepared(ctx context.Context) error {
	s.command(commandLine("helm", deliverCommand))
	if err := s.showDeployment("fairlead-deliver")(ctx); err != nil {
		return err
	}
	s.command(commandLine("helm", templateCommand) + " |\n      " + commandLine("fairlead", bundleCommand) + " |\n      kubectl apply --server-side -f -")
	s.say("The policies are the same for every cluster, and no password is in them.")
	return nil
}
