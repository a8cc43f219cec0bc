package observe

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// access is how to reach an API server, and as whom.
type access struct {
	server *url.URL
	proxy  *url.URL // nil: none
	tls    *tls.Config
	auth   *rest.Config // credentials alone
}

// parseKubeconfig reads what Cluster API keeps in the Secret of a cluster. Controllers of tenants write such Secrets: what runs a
// program or reads a file here is refused, and so is what sends credentials to whoever answers. No error shows a value.
func parseKubeconfig(text []byte) (access, error) {
	config, err := clientcmd.Load(text)
	if err != nil {
		return access{}, errors.New("the kubeconfig cannot be read")
	}
	name := config.CurrentContext
	current := config.Contexts[name]
	if current == nil {
		return access{}, errors.New("the kubeconfig has no current-context")
	}
	cluster, user := config.Clusters[current.Cluster], config.AuthInfos[current.AuthInfo]
	if cluster == nil || user == nil {
		return access{}, errors.New("the current-context of the kubeconfig names a cluster or a user that is not there")
	}
	if field := refusedField(cluster, user); field != "" {
		return access{}, fmt.Errorf("the kubeconfig has %s, which is refused: it must have everything in itself, run nothing, and verify the API server", field)
	}
	return accessOf(cluster, user)
}

// refusedField returns the first field that is set and must not be, or "" if there is none.
func refusedField(cluster *clientcmdapi.Cluster, user *clientcmdapi.AuthInfo) string {
	for _, field := range []struct {
		name string
		set  bool
	}{
		{"users[].user.exec", user.Exec != nil},
		{"users[].user.auth-provider", user.AuthProvider != nil},
		{"users[].user.tokenFile", user.TokenFile != ""},
		{"users[].user.client-certificate", user.ClientCertificate != ""},
		{"users[].user.client-key", user.ClientKey != ""},
		{"users[].user.as", user.Impersonate != "" || user.ImpersonateUID != "" || len(user.ImpersonateGroups)+len(user.ImpersonateUserExtra) > 0},
		{"clusters[].cluster.certificate-authority", cluster.CertificateAuthority != ""},
		{"clusters[].cluster.insecure-skip-tls-verify", cluster.InsecureSkipTLSVerify},
	} {
		if field.set {
			return field.name
		}
	}
	return ""
}

func accessOf(cluster *clientcmdapi.Cluster, user *clientcmdapi.AuthInfo) (access, error) {
	a := access{auth: &rest.Config{BearerToken: user.Token, Username: user.Username, Password: user.Password}}
	var err error
	if a.server, err = url.Parse(cluster.Server); err != nil || a.server.Scheme != "https" || a.server.Host == "" || a.server.User != nil || a.server.RawQuery != "" {
		return access{}, errors.New("clusters[].cluster.server of the kubeconfig is no https:// URL")
	}
	if cluster.ProxyURL != "" {
		a.proxy, err = url.Parse(cluster.ProxyURL)
		if err != nil || a.proxy.Host == "" || a.proxy.Scheme != "http" && a.proxy.Scheme != "https" && a.proxy.Scheme != "socks5" {
			return access{}, errors.New("clusters[].cluster.proxy-url of the kubeconfig is no URL of a proxy")
		}
	}
	a.tls, err = rest.TLSConfigFor(&rest.Config{TLSClientConfig: rest.TLSClientConfig{
		ServerName: cluster.TLSServerName, CAData: cluster.CertificateAuthorityData, CertData: user.ClientCertificateData, KeyData: user.ClientKeyData,
	}})
	if err != nil {
		return access{}, errors.New("a certificate or a key of the kubeconfig cannot be read")
	}
	return a, nil
}

// client is for one look. Its connections end with close.
func (a access) client() (client *http.Client, end func(), err error) {
	transport := &http.Transport{
		Proxy:           func(*http.Request) (*url.URL, error) { return a.proxy, nil }, // never one of the environment
		DialContext:     dialer.DialContext,
		TLSClientConfig: a.tls, TLSHandshakeTimeout: timeout, ResponseHeaderTimeout: timeout,
		MaxResponseHeaderBytes: maxHeader, DisableCompression: true, MaxConnsPerHost: 1,
	}
	authenticated, err := rest.HTTPWrappersForConfig(a.auth, transport)
	return &http.Client{
		Transport: authenticated, Timeout: timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // the credentials are for this server
	}, transport.CloseIdleConnections, err
}
