package main

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/deployment"
	"github.com/fairlead-io/fairlead/e2e/process"
	"github.com/fairlead-io/fairlead/e2e/repository"
	"github.com/fairlead-io/fairlead/internal/core/render"
)

//go:embed clusters.yaml
var clustersYAML []byte

// added is the entry that the change adds to noProxy.
const added = "mirror.corp.example"

func (s *stage) applyClusters(ctx context.Context) error {
	return errors.Join(s.cp.Install(ctx, controlplane.ClusterAPI), s.cp.Install(ctx, controlplane.AWSCluster), s.cp.Apply(ctx, clustersYAML))
}

func (s *stage) showClusters(context.Context) error {
	s.table([][]string{
		{"cluster", "infrastructure", "services", "endpoint"},
		{clusters + "/mycluster", "VSphereCluster", "100.64.0.0/13", "178.170.32.59:6443"},
		{clusters + "/frankfurt", "AWSCluster", "172.20.0.0/16", "frankfurt-apiserver-1234.eu-central-1.elb.amazonaws.com:6443"},
	})
	return nil
}

func (s *stage) installFairlead(ctx context.Context) error {
	install := func() error {
		_, err := s.run(ctx, nil, "helm", "install", "fairlead", "charts/fairlead", "-n", system, "--create-namespace", "-f", valuesFile)
		return err
	}
	err := install()
	if err == nil || !strings.Contains(err.Error(), "ensure CRDs are installed first") {
		return err
	}
	// Helm waits until its CRDs are established. A busy API server announces them a moment later.
	crds, err := filepath.Glob(repository.Path("charts/fairlead/crds/*.yaml"))
	for _, path := range crds {
		content, readErr := os.ReadFile(path)
		err = errors.Join(err, readErr, s.cp.Apply(ctx, content))
	}
	return errors.Join(err, install())
}

func (s *stage) showFairlead(context.Context) error {
	values, err := os.ReadFile(repository.Path(valuesFile))
	if err != nil {
		return err
	}
	s.command("cat " + valuesFile)
	s.say("%s", masked(strings.TrimSpace(string(values))))
	s.command("helm install fairlead charts/fairlead -n " + system + " --create-namespace -f " + valuesFile)
	return nil
}

func (s *stage) startOperator(ctx context.Context) error {
	if !s.keep {
		s.beginThird(ctx)
	}
	if err := s.controllers(ctx); err != nil { // they give the operator rights
		return err
	}
	if err := s.startDeployment(ctx, "fairlead-operator"); err != nil {
		return err
	}
	return s.awaitEntry(ctx, "example.com")
}

// startDeployment runs what a Deployment says. In a demo that is kept, another process does, and goes on doing it.
func (s *stage) startDeployment(ctx context.Context, name string) error {
	path, err := s.program(ctx, "fairlead-operator")
	switch {
	case err != nil:
		return err
	case !s.keep:
		return s.running.take(deployment.Start(ctx, s.cp, system, name))
	case s.hasNode:
		return nil
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	s.hasNode = true
	return s.running.take(s.cp.Run(ctx, process.Spec{Name: "node", Path: self, Args: []string{nodeFlag, path}, Grace: time.Minute}))
}

// showDeployment prints the command of a Deployment, and its service account.
func (s *stage) showDeployment(name string) func(context.Context) error {
	return func(ctx context.Context) error {
		found := &appsv1.Deployment{}
		if err := s.client.Get(ctx, client.ObjectKey{Namespace: system, Name: name}, found); err != nil {
			return err
		}
		pod := found.Spec.Template.Spec
		s.say("%s\nas system:serviceaccount:%s:%s, with its token and no other rights",
			cut(strings.Join(slices.Concat(pod.Containers[0].Command, pod.Containers[0].Args), " ")), system, pod.ServiceAccountName)
		return nil
	}
}

// awaitEntry returns when both clusters have the entry, in the Secret for charts too.
func (s *stage) awaitEntry(ctx context.Context, entry string) error {
	return poll(ctx, "the entry "+entry+" of both clusters", func(ctx context.Context) (bool, error) {
		now, err := s.entriesNow(ctx)
		if err != nil {
			return false, err
		}
		for _, name := range names {
			secret, err := s.secret(ctx, clusters, name+render.ValuesSuffix)
			if err != nil || !slices.Contains(now[name], entry) || !bytes.Contains(secret.Data[render.ValuesKey], []byte(entry)) {
				return false, err
			}
		}
		return true, nil
	})
}

func (s *stage) secret(ctx context.Context, namespace, name string) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	return secret, s.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, secret)
}

func (s *stage) showSecrets(ctx context.Context) error {
	if err := s.showReports(ctx); err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, part := range []struct{ suffix, key string }{{render.ValuesSuffix, render.ValuesKey}, {render.SystemdSuffix, render.ContainerdKey}} {
		secret, err := s.secret(ctx, clusters, names[0]+part.suffix)
		if err != nil {
			return err
		}
		s.command(fmt.Sprintf("kubectl get secret -n %s %s -o go-template='{{.data.%s | base64decode}}'", clusters, secret.Name, part.key))
		s.say("%s", folded(once(seen, masked(strings.TrimSpace(string(secret.Data[part.key]))))))
	}
	s.say("\nThe password is hidden here, not there.")
	return nil
}

// upgrade applies the change as a config repository would.
func (s *stage) upgrade(ctx context.Context) (err error) {
	if s.entries, err = s.entriesNow(ctx); err != nil {
		return err
	}
	values, err := os.ReadFile(repository.Path(valuesFile))
	if err != nil {
		return err
	}
	changed := strings.Replace(string(values), "example.com", "example.com,"+added, 1)
	if s.changed, err = s.write("secret-values.yaml", []byte(changed)); err != nil {
		return err
	}
	if _, err := s.run(ctx, nil, "helm", "upgrade", "fairlead", "charts/fairlead", "-n", system, "-f", s.changed); err != nil {
		return err
	}
	return s.awaitEntry(ctx, added)
}

func (s *stage) showUpgrade(ctx context.Context) error {
	s.command("sed s/example.com/example.com,"+added+"/ "+valuesFile+" >"+s.changed,
		"helm upgrade fairlead charts/fairlead -n "+system+" -f "+s.changed)
	s.say("")
	now, err := s.entriesNow(ctx)
	if err != nil {
		return err
	}
	rows := [][]string{{"cluster", "entries before", "now", "added"}}
	for _, name := range names {
		news := slices.DeleteFunc(slices.Clone(now[name]), func(entry string) bool { return slices.Contains(s.entries[name], entry) })
		rows = append(rows, []string{clusters + "/" + name, fmt.Sprint(len(s.entries[name])), fmt.Sprint(len(now[name])), strings.Join(news, " ")})
	}
	s.table(rows)
	return nil
}

// entriesNow are the entries of each cluster's list.
func (s *stage) entriesNow(ctx context.Context) (map[string][]string, error) {
	found := map[string][]string{}
	for _, name := range names {
		report := &v1alpha1.ProxyReport{}
		if err := s.client.Get(ctx, client.ObjectKey{Namespace: clusters, Name: name}, report); err != nil {
			return nil, err
		}
		found[name] = strings.Split(report.Status.NoProxy.Go, ",")
	}
	return found, nil
}

// explain asks fairlead about the Cluster as the API server has it.
func (s *stage) explain(ctx context.Context) error {
	cluster, err := s.get(ctx, "/apis/cluster.x-k8s.io/v1beta2/namespaces/"+clusters+"/clusters/"+names[0], "application/yaml")
	if err != nil {
		return err
	}
	args := []string{"explain", added, "github.com", "--values", s.changed, "--cluster", "-"}
	s.asked = "kubectl get cluster -n " + clusters + " " + names[0] + " -o yaml |\n      fairlead " + strings.Join(args, " ")
	s.answer, err = s.run(ctx, cluster, "fairlead", args...)
	return err
}

func (s *stage) showAnswer(context.Context) error {
	s.command(s.asked)
	s.say("%s", strings.TrimRight(namesOfClients.ReplaceAllString(s.answer, "$1 ...\n"), "\n"))
	return nil
}

// namesOfClients are a line of names, and what follows of them.
var namesOfClients = regexp.MustCompile(`(?m)^((?: *[a-z0-9-]+,){3,})\n(?:(?: *[a-z0-9-]+,?)+(?:\n|$))*`)
