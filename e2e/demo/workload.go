package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

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
	s.command(valuesCommand + strings.Join(policiesCommand, " "))
	return nil
}

// valuesCommand has the Secret's values on the standard input of helm.
const valuesCommand = "kubectl get secret -n " + clusters + " mycluster" + render.ValuesSuffix +
	" -o go-template='{{.data." + render.ValuesKey + " | base64decode}}' |\n      helm "

// startReplicator returns when the Secret of the variables has arrived where pods are.
func (s *stage) startReplicator(ctx context.Context) error {
	if err := s.startDeployment(ctx, "fairlead-replicator"); err != nil {
		return err
	}
	return poll(ctx, "the Secret of the variables", func(ctx context.Context) (bool, error) {
		for _, namespace := range []string{shop, tunnels} {
			if _, err := s.secret(ctx, namespace, render.PodSecretName); err != nil {
				return false, err
			}
		}
		return true, nil
	})
}

func (s *stage) showReplicator(ctx context.Context) error {
	if err := s.showDeployment("fairlead-replicator")(ctx); err != nil {
		return err
	}
	s.say("The Secret %s is now in %s, %s and every other namespace with pods to change.", render.PodSecretName, shop, tunnels)
	return nil
}

// podOf is a pod of the shop.
func podOf(name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: shop, Name: name},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: name, Image: "registry.example/" + name + ":1"}}},
	}
}

func (s *stage) createPod(ctx context.Context) error { return create(ctx, s.client, podOf("web")) }

// create stores a pod as soon as a policy changes it. Kyverno has the API server ask about pods every ten seconds.
func create(ctx context.Context, in client.Client, pod *corev1.Pod) error {
	bare := len(pod.Spec.Containers[0].Env)
	err := poll(ctx, "the pod "+pod.Name+" to be changed", func(ctx context.Context) (bool, error) {
		try := pod.DeepCopy()
		err := in.Create(ctx, try, client.DryRunAll)
		return err == nil && len(try.Spec.Containers[0].Env) > bare, err
	})
	if err != nil {
		return err
	}
	return in.Create(ctx, pod)
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
	s.table(variables(pod, secret))
	return nil
}

// variables are those of the first container, a row for both cases of a name. The Secret has their values.
func variables(pod *corev1.Pod, secret *corev1.Secret) [][]string {
	rows := [][]string{{"variable", "from", "which is"}}
	for _, env := range pod.Spec.Containers[0].Env {
		value, from := env.Value, "the pod itself"
		if ref := env.ValueFrom; ref != nil && ref.SecretKeyRef != nil {
			value, from = string(secret.Data[ref.SecretKeyRef.Key]), "Secret "+ref.SecretKeyRef.Name
		}
		row := []string{env.Name, from, shortened(masked(value))}
		if twin := slices.IndexFunc(rows, func(r []string) bool {
			return strings.EqualFold(r[0], env.Name) && slices.Equal(r[1:], row[1:])
		}); twin >= 0 {
			rows[twin][0] += ", " + env.Name
			continue
		}
		rows = append(rows, row)
	}
	return rows
}

// shortened cuts a list, and says how long it is.
func shortened(list string) string {
	const most = 3
	if entries := strings.Split(list, ","); len(entries) > most+1 {
		return fmt.Sprintf("%s,... (%d entries)", strings.Join(entries[:most], ","), len(entries))
	}
	return list
}

func (s *stage) createAgent(ctx context.Context) error {
	pod, err := agent()
	if err != nil {
		return err
	}
	return create(ctx, s.client, pod)
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

// showAgent shows what has come to each container.
func (s *stage) showAgent(ctx context.Context) error {
	before, err := agent()
	if err != nil {
		return err
	}
	after, err := s.stored(ctx, before.Namespace, before.Name)
	if err != nil {
		return err
	}
	s.say("The pod of %s, from Open Cluster Management's own chart. What is new:", agentFile)
	for i, container := range after.Spec.Containers {
		was := before.Spec.Containers[i]
		s.say("container %s", container.Name)
		for _, arg := range slices.Concat(container.Command, container.Args) {
			if !slices.Contains(slices.Concat(was.Command, was.Args), arg) {
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

// pods asks fairlead about the pods of a namespace, those that are fine, too.
func (s *stage) pods(ctx context.Context) (err error) {
	s.asked = "fairlead pods -n " + shop + " --all"
	s.answer, err = s.run(ctx, nil, "fairlead", "pods", "-n", shop, "--all")
	return err
}
