package main

import (
	"context"
	"errors"
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	addonsv1 "sigs.k8s.io/cluster-api/api/addons/v1beta2"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/e2e/deployment"
	"github.com/fairlead-io/fairlead/internal/core/render"
)

// wiring counts the files and commands of a template for machines.
type wiring struct{ files, commands int }

func (w wiring) String() string {
	if w == (wiring{}) {
		return none
	}
	return fmt.Sprintf("%d files, %d commands", w.files, w.commands)
}

func wiringOf(spec bootstrapv1.KubeadmConfigSpec) wiring {
	return wiring{len(spec.Files), len(spec.PreKubeadmCommands)}
}

// content has Fairlead's objects in the third cluster.
type content struct{ source, policies, programs string }

const none = "none"

// label is all that is done to the third cluster. It returns when everything is there that follows.
func (s *stage) label(ctx context.Context) error {
	s.rotation.started = s.meanwhile(func() error { return s.startRelay(ctx) })
	if err := s.provisioned(ctx); err != nil {
		return err
	}
	err := poll(ctx, "the templates of "+third, s.templates(&s.wired[0], 0))
	if err != nil {
		return err
	}
	if s.content[0], err = s.contentNow(ctx); err != nil {
		return err
	}
	if s.content[0] != (content{none, none, none}) {
		return fmt.Errorf("%s has something before it has the label: %v", third, s.content[0])
	}
	cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: clusters, Name: third}}
	patch := fmt.Appendf(nil, `{"metadata":{"labels":{%q:%q}}}`, v1alpha1.DeliverLabel, third)
	if err := s.client.Patch(ctx, cluster, client.RawPatch("application/merge-patch+json", patch)); err != nil {
		return err
	}
	for _, follows := range []struct {
		what string
		ask  func(context.Context) (bool, error)
	}{
		{"files in the templates of " + third, s.templates(&s.wired[1], 2)},
		{"the report to say Delivered", s.delivered},
		{"Cluster API to have applied everything in " + third, s.applied},
	} {
		if err := poll(ctx, follows.what, follows.ask); err != nil {
			return err
		}
	}
	s.content[1], err = s.contentNow(ctx)
	if after := s.content[1]; err == nil && (after.source == none || after.policies == none || after.programs == none) {
		return fmt.Errorf("%s lacks something after it has the label: %v", third, after)
	}
	return err
}

// templates asks whether all of them have so many files.
func (s *stage) templates(found *map[string]wiring, files int) func(context.Context) (bool, error) {
	return func(ctx context.Context) (bool, error) {
		*found = map[string]wiring{}
		controlPlanes, workers := &controlplanev1.KubeadmControlPlaneList{}, &clusterv1.MachineDeploymentList{}
		for _, list := range []client.ObjectList{controlPlanes, workers} {
			if err := s.client.List(ctx, list, client.InNamespace(clusters)); err != nil {
				return false, err
			}
		}
		for i := range controlPlanes.Items {
			(*found)["KubeadmControlPlane"] = wiringOf(controlPlanes.Items[i].Spec.KubeadmConfigSpec)
		}
		for i := range workers.Items {
			template := &bootstrapv1.KubeadmConfigTemplate{}
			key := client.ObjectKey{Namespace: clusters, Name: workers.Items[i].Spec.Template.Spec.Bootstrap.ConfigRef.Name}
			if err := s.client.Get(ctx, key, template); err != nil {
				return false, err
			}
			(*found)["KubeadmConfigTemplate"] = wiringOf(template.Spec.Template.Spec)
		}
		for _, one := range *found {
			if one.files != files {
				return false, nil
			}
		}
		return len(*found) == 2, nil
	}
}

func (s *stage) delivered(ctx context.Context) (bool, error) {
	report := &v1alpha1.ProxyReport{}
	err := s.client.Get(ctx, client.ObjectKey{Namespace: clusters, Name: third}, report)
	return meta.IsStatusConditionTrue(report.Status.Conditions, v1alpha1.ConditionDelivered), err
}

// applied asks whether each ClusterResourceSet is in the cluster, those of the bundle and those of deliver.
func (s *stage) applied(ctx context.Context) (bool, error) {
	sets, binding := &addonsv1.ClusterResourceSetList{}, &addonsv1.ClusterResourceSetBinding{}
	if err := errors.Join(
		s.client.List(ctx, sets, client.InNamespace(clusters)),
		s.client.Get(ctx, client.ObjectKey{Namespace: clusters, Name: third}, binding),
	); err != nil {
		return false, err
	}
	for _, set := range binding.Spec.Bindings {
		for _, resource := range set.Resources {
			if !ptr.Deref(resource.Applied, false) {
				return false, fmt.Errorf("%s of %s is not applied", resource.Name, set.ClusterResourceSetName)
			}
		}
	}
	return len(binding.Spec.Bindings) == len(sets.Items), nil
}

// contentNow asks the third cluster itself.
func (s *stage) contentNow(ctx context.Context) (content, error) {
	found := content{none, none, none}
	source := &corev1.Secret{}
	policies, programs := &admissionv1.MutatingAdmissionPolicyList{}, &appsv1.DeploymentList{}
	err := s.inThird.Get(ctx, client.ObjectKey{Namespace: system, Name: "fairlead-source"}, source)
	if err == nil {
		found.source = masked(string(source.Data["HTTPS_PROXY"]))
	}
	if err := errors.Join(
		client.IgnoreNotFound(err), s.inThird.List(ctx, policies), s.inThird.List(ctx, programs, client.InNamespace(system)),
	); err != nil {
		return found, err
	}
	if count := len(policies.Items); count > 0 {
		found.policies = fmt.Sprintf("%s and %d others", policies.Items[0].Name, count-1)
	}
	if len(programs.Items) > 0 {
		found.programs = programs.Items[0].Name
	}
	return found, nil
}

func (s *stage) showLabel(context.Context) error {
	s.command(fmt.Sprintf("kubectl label cluster %s -n %s %s=%[1]s", third, clusters, v1alpha1.DeliverLabel))
	before, after := s.content[0], s.content[1]
	s.table([][]string{
		{"what follows", "before", "after"},
		{"machines: KubeadmControlPlane", s.wired[0]["KubeadmControlPlane"].String(), s.wired[1]["KubeadmControlPlane"].String()},
		{"machines: KubeadmConfigTemplate", s.wired[0]["KubeadmConfigTemplate"].String(), s.wired[1]["KubeadmConfigTemplate"].String()},
		{third + ": Secret fairlead-source", before.source, after.source},
		{third + ": policies", before.policies, after.policies},
		{third + ": Deployment", before.programs, after.programs},
	})
	return nil
}

// createThirdPod runs what the Deployment there says, as no kubelet does, and creates a pod once that API server acts on the
// policies that it has.
func (s *stage) createThirdPod(ctx context.Context) error {
	namespace := "{apiVersion: v1, kind: Namespace, metadata: {name: " + shop + "}}"
	account := "{apiVersion: v1, kind: ServiceAccount, metadata: {name: default, namespace: " + shop + "}}"
	if err := s.third.Apply(ctx, []byte(namespace), []byte(account)); err != nil {
		return err
	}
	if err := s.running.take(deployment.Start(ctx, s.third, system, "fairlead-replicator")); err != nil {
		return err
	}
	s.copied = &corev1.Secret{}
	if err := poll(ctx, "the Secret of the variables in "+third, func(ctx context.Context) (bool, error) {
		err := s.inThird.Get(ctx, client.ObjectKey{Namespace: shop, Name: render.PodSecretName}, s.copied)
		return err == nil, err
	}); err != nil {
		return err
	}
	return create(ctx, s.inThird, podOf("till"))
}

func (s *stage) showThirdPod(ctx context.Context) error {
	pod := &corev1.Pod{}
	if err := s.inThird.Get(ctx, client.ObjectKey{Namespace: shop, Name: "till"}, pod); err != nil {
		return err
	}
	s.say("There are no nodes: the demo runs the replicator as its Deployment in %s says.", third)
	s.command("kubectl create -f till.yaml && kubectl get pod -n " + shop + " till -o yaml   # in " + third + "; its variables, as stored")
	s.table(variables(pod, s.copied))
	return nil
}
