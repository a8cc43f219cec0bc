package render

import (
	"cmp"
	"net/url"

	"github.com/fairlead-io/fairlead/internal/core/resolve"
)

// Names of the Secrets for programs that fetch from repositories.
const (
	FluxProxySecretName = "fairlead-flux-proxy"
	ArgoCDSecretName    = "fairlead-argocd-proxy"
)

// FluxProxySecret returns the Secret that proxySecretRef of Flux's sources, ImageRepositories and notification Providers
// names, without a namespace (github.com/fluxcd/pkg, runtime/secrets, ProxyURLFromSecret). It has one address, that of
// HTTPS_PROXY, or of HTTP_PROXY where there is no other, and no list: a source that names it uses the proxy whatever its
// host is. Without a proxy it is a Problem.
func FluxProxySecret(e resolve.Effective) (Secret, error) {
	address, err := oneProxy(e, "Secret "+FluxProxySecretName)
	if err != nil {
		return Secret{}, err
	}
	data := map[string][]byte{}
	if user := address.User; user != nil {
		data["username"] = []byte(user.Username())
		if password, ok := user.Password(); ok {
			data["password"] = []byte(password)
		}
		address.User = nil
	}
	data["address"] = []byte(address.String())
	return sourceSecret(FluxProxySecretName, data), nil
}

// ArgoCDSecret returns Argo CD's credential template for the repositories whose URL begins with prefix, without a
// namespace: they take proxy and noProxy from it, unless they have their own (argoproj/argo-cd,
// util/db/repository_secrets.go, and Repository.CopyCredentialsFrom). Without a proxy it is a Problem.
func ArgoCDSecret(e resolve.Effective, prefix string) (Secret, error) {
	address, err := oneProxy(e, "Secret "+ArgoCDSecretName)
	if err != nil {
		return Secret{}, err
	}
	s := sourceSecret(ArgoCDSecretName, map[string][]byte{
		"url": []byte(prefix), "proxy": []byte(address.String()), "noProxy": []byte(e.NoProxy.Any.String()),
	})
	s.Labels["argocd.argoproj.io/secret-type"] = "repo-creds"
	return s, nil
}

func sourceSecret(name string, data map[string][]byte) Secret {
	return Secret{Name: name, Labels: map[string]string{ManagedLabel: Manager}, Data: data}
}

// oneProxy returns the proxy for a program that takes one for all URLs. Repositories are https.
func oneProxy(e resolve.Effective, field string) (*url.URL, error) {
	if !e.HasProxy() {
		return nil, problemAt(e, field, notCarriable("the cluster has no proxy: leave the reference away"))
	}
	address, err := url.Parse(cmp.Or(e.HTTPS.Reveal(), e.HTTP.Reveal()))
	if err != nil { // its text has the password
		return nil, problemAt(e, field, notCarriable("Go cannot read the proxy's URL"))
	}
	return address, nil
}
