package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/e2e/authority"
	"github.com/fairlead-io/fairlead/e2e/operator"
)

const (
	proxyName = "corporate" // also of its Secret and its ConfigMap
	bundleKey = "ca.crt"
	noProxy   = "10.0.0.0/8,172.16.0.0/12,192.168.0.0/16,.corp.example,.lab.example,registry.corp.example," +
		"git.corp.example,vault.corp.example,ntp.corp.example,169.254.169.254,ldap.corp.example:636,mirror.corp.example"
)

// token is the password of a fan-out, by which the Secrets that have it are known.
func token(n int) string { return fmt.Sprintf("%s%06d", tokenPrefix, n) }

// sourceData returns the data of the proxy's Secret.
func sourceData(token string) map[string][]byte {
	url := []byte("http://fleet:" + token + "@proxy.corp.example:3128")
	return map[string][]byte{"http": url, "https": url, "noProxy": []byte(noProxy)}
}

// createProxy creates the CorporateProxy of all clusters, and what it reads.
func createProxy(ctx context.Context, c client.Client, token string, options options) error {
	meta := metav1.ObjectMeta{Namespace: operator.Namespace, Name: proxyName}
	if err := c.Create(ctx, &corev1.Secret{ObjectMeta: meta, Data: sourceData(token)}); err != nil {
		return err
	}
	proxy := &v1alpha1.CorporateProxy{
		ObjectMeta: metav1.ObjectMeta{Name: proxyName},
		Spec: v1alpha1.CorporateProxySpec{
			Source: v1alpha1.ProxySource{ValuesRef: &v1alpha1.SecretReference{Name: proxyName}},
		},
	}
	for i := range options.Entries {
		proxy.Spec.NoProxy = append(proxy.Spec.NoProxy, v1alpha1.NoProxyEntry{Value: fmt.Sprintf("host-%04d.site.corp.example", i)})
	}
	if options.Bundle > 0 {
		bundle, err := certificates(options.Bundle * 1024)
		if err != nil {
			return err
		}
		if err := c.Create(ctx, &corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{bundleKey: bundle}}); err != nil {
			return err
		}
		proxy.Spec.TrustedCARef = &v1alpha1.CertificateReference{Kind: "ConfigMap", Name: proxyName, Key: bundleKey}
	}
	return c.Create(ctx, proxy)
}

// certificates are as many as fit into so many bytes.
func certificates(size int) (string, error) {
	var bundle []byte
	for i := 1; ; i++ {
		company, err := authority.New(fmt.Sprintf("Authority %d of the company", i))
		if err != nil {
			return "", err
		}
		text := company.PEM()
		if len(bundle)+len(text) > size {
			return string(bundle), nil
		}
		bundle = append(bundle, text...)
	}
}
