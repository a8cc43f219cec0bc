package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/e2e/deployment"
	"github.com/fairlead-io/fairlead/e2e/repository"
	"github.com/fairlead-io/fairlead/internal/core/render"
)

// agentFile is a manifest that Open Cluster Management's own chart has made.
const agentFile = "internal/agents/tunnel/testdata/cluster-proxy.yaml"

var policiesCommand = []string{"install", "fairlead-policies", "charts/fairlead-policies", "-n", system, "-f", "-"}

// installPolicies gives the chart what the Secret for charts holds, as it is.
func (s *stage) installPolicies(ctx context.Context) error {
	secret, err := s.secret(ctx, clusters, names[0]+render.ValuesSuffix)
	if err != nil {
		return err
	}
	_, err = s.run(ctx, secret.Data[render.ValuesKey], "helm", policiesCommand...)
	return err
}

func (s *stage) showPolicies(context.Context) error {
	s.command(fmt.Sprintf("kubectl get secret -n %s %s%s -o go-template='{{.data.%s | base64decode}}' |\n      helm %s",
		clusters, names[0], render.ValuesSuffix, render.ValuesKey, strings.Join(policiesCommand, " ")))
	return nil
}

// startReplicator returns when the Secret of the variables has arrived where pods are.
func (s *stage) startReplicator(ctx context.Context) error {
	replicator, err := deployment.Start(ctx, s.cp, system, "fairlead-replicator")
	if err != nil {
		return err
	}
	s.running = append(s.running, replicator)
	return wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		for _, namespace := range []string{shop, tunnels} {
			if _, err := s.secret(ctx, namespace, render.PodSecretName); err != nil {
				return false, client.IgnoreNotFound(err)
			}
		}
		return true, nil
	})
}

func (s *stage) showReplicator(ctx context.Context) error {
	if err := s.showDeployment(ctx, "fairlead-replicator"); err != nil {
		return err
	}
	s.say("The Secret %s is now in %s, %s and every other namespace with pods to change.", render.PodSecretName, shop, tunnels)
	return nil
}

func web() *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: shop, Name: "web"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "registry.example/web:1"}}},
	}
}

func (s *stage) createPod(ctx context.Context) error { return s.create(ctx, web()) }

// create stores a pod as soon as Kyverno is asked about pods, which it has the API server do every ten seconds.
func (s *stage) create(ctx context.Context, pod *corev1.Pod) error {
	bare := len(pod.Spec.Containers[0].Env)
	err := wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		try := pod.DeepCopy()
		err := s.client.Create(ctx, try, client.DryRunAll)
		return err == nil && len(try.Spec.Containers[0].Env) > bare, err
	})
	if err != nil {
		return err
	}
	return s.client.Create(ctx, pod)
}

func (s *stage) stored(ctx context.Context, namespace, name string) (*corev1.Pod, error) {
	pod := &corev1.Pod{}
	return pod, s.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, pod)
}

func (s *stage) showPod(ctx context.Context) error {
	pod, err := s.stored(ctx, shop, "web")
	if err != nil {
		return err
	}
	secret, err := s.secret(ctx, shop, render.PodSecretName)
	if err != nil {
		return err
	}
	s.command("kubectl create -f web.yaml && kubectl get pod -n " + shop + " web -o yaml   # its variables, as stored")
	rows := [][]string{{"variable", "from", "which is"}}
	for _, env := range pod.Spec.Containers[0].Env {
		from, value := origin(env), env.Value
		if ref := env.ValueFrom; ref != nil && ref.SecretKeyRef != nil {
			value = string(secret.Data[ref.SecretKeyRef.Key])
		}
		rows = append(rows, []string{env.Name, from, shortened(masked(value))})
	}
	s.table(rows)
	return nil
}

// origin says where a variable gets its value.
func origin(env corev1.EnvVar) string {
	if env.ValueFrom == nil || env.ValueFrom.SecretKeyRef == nil {
		return "the pod itself"
	}
	return "Secret " + env.ValueFrom.SecretKeyRef.Name + ", " + env.ValueFrom.SecretKeyRef.Key
}

func shortened(text string) string {
	const most = 60
	if len(text) > most {
		return text[:most] + "..."
	}
	return text
}

func (s *stage) createAgent(ctx context.Context) error {
	pod, err := agent()
	if err != nil {
		return err
	}
	return s.create(ctx, pod)
}

// agent is a pod of the Deployment in agentFile.
func agent() (*corev1.Pod, error) {
	manifest, err := os.ReadFile(repository.Path(agentFile))
	if err != nil {
		return nil, err
	}
	var made appsv1.Deployment
	if err := yaml.Unmarshal(manifest, &made); err != nil {
		return nil, fmt.Errorf("%s: %w", agentFile, err)
	}
	template := made.Spec.Template
	pod := &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
	pod.Namespace, pod.Name = made.Namespace, made.Name
	return pod, nil
}

// showAgent shows the containers as they were, and marks what has come.
func (s *stage) showAgent(ctx context.Context) error {
	before, err := agent()
	if err != nil {
		return err
	}
	after, err := s.stored(ctx, before.Namespace, before.Name)
	if err != nil {
		return err
	}
	s.say("The pod of %s, from Open Cluster Management's own chart:", agentFile)
	for i, container := range after.Spec.Containers {
		was := before.Spec.Containers[i]
		s.say("\ncontainer %s", container.Name)
		for _, arg := range slices.Concat(container.Command, container.Args) {
			if slices.Contains(slices.Concat(was.Command, was.Args), arg) {
				s.say("    %s", arg)
			} else {
				s.sayNew(arg)
			}
		}
		var names []string
		for _, env := range container.Env[len(was.Env):] {
			if ref := env.ValueFrom; ref != nil && ref.SecretKeyRef != nil && ref.SecretKeyRef.Name == render.PodSecretName {
				names = append(names, env.Name)
			}
		}
		s.sayNew(strings.Join(names, " ") + ", from the Secret " + render.PodSecretName)
	}
	return nil
}

func (s *stage) sayNew(line string) { s.say("%s", s.paint(green, "  + "+line)) }

// pods asks fairlead about every pod.
func (s *stage) pods(ctx context.Context) (err error) {
	s.asked = "fairlead pods -A --all"
	s.answer, err = s.run(ctx, nil, "fairlead", "pods", "-A", "--all")
	return err
}
