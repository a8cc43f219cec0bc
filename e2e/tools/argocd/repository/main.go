// Command repository reads a Secret of Argo CD from its standard input as Argo CD does, and lists the references of each
// repository that is named, with Argo CD's Git client: through the proxy that Argo CD takes for it.
package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/argoproj/argo-cd/v3/util/db"
	"github.com/argoproj/argo-cd/v3/util/git"
	"github.com/argoproj/argo-cd/v3/util/settings"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"sigs.k8s.io/yaml"
)

const namespace = "argocd"

func main() {
	if err := run(context.Background(), os.Stdin, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, in io.Reader, urls []string) error {
	text, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	secret := &corev1.Secret{}
	if err := yaml.UnmarshalStrict(text, secret); err != nil {
		return err
	}
	secret.Namespace = namespace
	part := metav1.ObjectMeta{Namespace: namespace, Labels: map[string]string{"app.kubernetes.io/part-of": "argocd"}}
	config, own := &corev1.ConfigMap{ObjectMeta: part}, &corev1.Secret{ObjectMeta: part}
	config.Name, own.Name = "argocd-cm", "argocd-secret"
	client := fake.NewClientset(secret, config, own)
	repositories := db.NewDB(namespace, settings.NewSettingsManager(ctx, client, namespace), client)
	for _, url := range urls {
		repository, err := repositories.GetRepository(ctx, url, "")
		if err != nil {
			return err
		}
		client, err := git.NewClientExt(url, os.TempDir(), git.NopCreds{}, false, false, repository.Proxy, repository.NoProxy)
		if err != nil {
			return err
		}
		_, err = client.LsRefs()
		fmt.Println(url, "proxy:", repository.Proxy != "", err)
	}
	return nil
}
