package controlplane

import (
	"context"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// tokenLifetime is longer than any test, because nothing renews the token.
const tokenLifetime int64 = 24 * 60 * 60

// Admin may do everything.
func (cp *ControlPlane) Admin() *rest.Config { return rest.CopyConfig(cp.admin) }

// User is somebody with a client certificate and only the rights that RBAC gives to the name or groups.
func (cp *ControlPlane) User(name string, groups ...string) (*rest.Config, error) {
	return cp.user(name, &x509.Certificate{Subject: pkix.Name{CommonName: name, Organization: groups}})
}

// Expired is User with a certificate that was valid until a minute ago.
func (cp *ControlPlane) Expired(name string, groups ...string) (*rest.Config, error) {
	return cp.user(name, &x509.Certificate{
		Subject:   pkix.Name{CommonName: name, Organization: groups},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(-time.Minute),
	})
}

func (cp *ControlPlane) user(name string, template *x509.Certificate) (*rest.Config, error) {
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	certificate, key, err := cp.pki.client.IssueFrom(template)
	if err != nil {
		return nil, fmt.Errorf("make user %s: %w", name, err)
	}
	cfg := cp.anonymous()
	cfg.CertData, cfg.KeyData = certificate, key
	return cfg, nil
}

// ServiceAccount is a service account with a real token of its own and only the rights that RBAC gives
// it. The account is made if it does not exist, its namespace is not.
func (cp *ControlPlane) ServiceAccount(ctx context.Context, namespace, name string) (*rest.Config, error) {
	accounts := cp.clients.CoreV1().ServiceAccounts(namespace)
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := accounts.Create(ctx, account, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return nil, fmt.Errorf("create service account %s/%s: %w", namespace, name, err)
	}
	seconds := tokenLifetime
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}
	request, err := accounts.CreateToken(ctx, name, request, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("request token of service account %s/%s: %w", namespace, name, err)
	}
	cfg := rest.AnonymousClientConfig(cp.admin)
	cfg.BearerToken = request.Status.Token
	return cfg, nil
}

// anonymous knows the server but nobody. There is no limit on the client's side: the API server has
// its own, and a test that is slow for another reason than its subject is hard to read.
func (cp *ControlPlane) anonymous() *rest.Config {
	return &rest.Config{
		Host:            "https://" + cp.port.Address(),
		TLSClientConfig: rest.TLSClientConfig{CAData: cp.pki.serving.PEM()},
		QPS:             -1,
	}
}

// Kubeconfig writes a file for programs that want one, readable by us alone, and gone with Stop.
func (cp *ControlPlane) Kubeconfig(cfg *rest.Config) (path string, err error) {
	file, err := os.CreateTemp(cp.Dir(), "*.kubeconfig")
	if err == nil {
		path, err = filepath.Abs(file.Name())
		err = errors.Join(err, file.Close())
	}
	if err != nil {
		return "", fmt.Errorf("make kubeconfig file: %w", err)
	}
	return path, cp.writeKubeconfig(path, cfg)
}

func (cp *ControlPlane) writeKubeconfig(path string, cfg *rest.Config) error {
	const name = "fairlead-e2e"
	content := clientcmdapi.NewConfig()
	content.Clusters[name] = &clientcmdapi.Cluster{
		Server:                   cfg.Host,
		CertificateAuthorityData: cfg.CAData,
	}
	content.AuthInfos[name] = &clientcmdapi.AuthInfo{
		ClientCertificateData: cfg.CertData,
		ClientKeyData:         cfg.KeyData,
		Token:                 cfg.BearerToken,
		Impersonate:           cfg.Impersonate.UserName,
		ImpersonateGroups:     cfg.Impersonate.Groups,
	}
	content.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	content.CurrentContext = name
	if err := clientcmd.WriteToFile(*content, path); err != nil {
		return fmt.Errorf("write kubeconfig: %w", err)
	}
	return os.Chmod(path, 0o600)
}
