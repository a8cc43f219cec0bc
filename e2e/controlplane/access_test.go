package controlplane_test

import (
	"os"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
)

func TestMain(m *testing.M) { controlplanetest.Main(m) }

func TestAServiceAccountWithoutARoleBindingCannotReadSecrets(t *testing.T) {
	cp := controlplanetest.Shared(t)
	namespace := controlplanetest.Namespace(t, cp)
	cfg, err := cp.ServiceAccount(t.Context(), namespace, "nobody")
	controlplanetest.Require(t, err)

	if got, want := whoAmI(t, cfg), controlplane.ServiceAccountUser(namespace, "nobody"); got != want {
		t.Errorf("the API server takes the token for %q, want %q", got, want)
	}
	_, err = clientsFor(t, cfg).CoreV1().Secrets(namespace).List(t.Context(), metav1.ListOptions{})
	if !apierrors.IsForbidden(err) {
		t.Errorf("listing Secrets: %v, want forbidden", err)
	}
}

func TestAUserHasTheNameAndGroupsOfTheCertificateAndNoRights(t *testing.T) {
	cp := controlplanetest.Shared(t)
	cfg, err := cp.User("tenant", "org-acme")
	controlplanetest.Require(t, err)

	if got := whoAmI(t, cfg); got != "tenant" {
		t.Errorf("the API server takes the certificate for %q", got)
	}
	_, err = clientsFor(t, cfg).CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{})
	if !apierrors.IsForbidden(err) {
		t.Errorf("listing namespaces: %v, want forbidden", err)
	}
}

func TestAKubeconfigFileGivesTheSameAccessAndIsReadableByUsAlone(t *testing.T) {
	cp := controlplanetest.Shared(t)
	namespace := controlplanetest.Namespace(t, cp)
	cfg, err := cp.ServiceAccount(t.Context(), namespace, "from-file")
	controlplanetest.Require(t, err)
	path, err := cp.Kubeconfig(cfg)
	controlplanetest.Require(t, err)

	info, err := os.Stat(path)
	controlplanetest.Require(t, err)
	if info.Mode() != 0o600 {
		t.Errorf("mode of the file is %v", info.Mode())
	}
	loaded, err := clientcmd.BuildConfigFromFlags("", path)
	controlplanetest.Require(t, err)
	if got, want := whoAmI(t, loaded), controlplane.ServiceAccountUser(namespace, "from-file"); got != want {
		t.Errorf("the API server takes the file for %q, want %q", got, want)
	}
}

func whoAmI(t *testing.T, cfg *rest.Config) string {
	t.Helper()
	review, err := clientsFor(t, cfg).AuthenticationV1().SelfSubjectReviews().
		Create(t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	controlplanetest.Require(t, err)
	return review.Status.UserInfo.Username
}

func clientsFor(t *testing.T, cfg *rest.Config) kubernetes.Interface {
	t.Helper()
	clients, err := kubernetes.NewForConfig(cfg)
	controlplanetest.Require(t, err)
	return clients
}
