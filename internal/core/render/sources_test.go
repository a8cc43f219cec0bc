package render

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/core/proxyurl"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
)

func TestFluxGetsAddressUserAndPasswordApart(t *testing.T) {
	for text, want := range map[string]map[string]string{
		"http://proxy.example:3128":                     {"address": "http://proxy.example:3128"},
		"https://me@proxy.example:3128":                 {"address": "https://proxy.example:3128", "username": "me"},
		"http://me%40corp:s%3Ac%2Fr%25t@[fd00::1]:3128": {"address": "http://[fd00::1]:3128", "username": "me@corp", "password": "s:c/r%t"},
	} {
		s, err := FluxProxySecret(proxied(t, text))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, texts(s)); diff != "" || s.Name != "fairlead-flux-proxy" {
			t.Errorf("%s: %s%s", text, s.Name, diff)
		}
	}
}

func TestArgoCDGetsTheURLAndTheList(t *testing.T) {
	s, err := ArgoCDSecret(proxied(t, "http://me:s%3Acret@proxy.example:3128"), "https://github.com/")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"url": "https://github.com/", "proxy": "http://me:s%3Acret@proxy.example:3128", "noProxy": "corp.example"}
	if diff := cmp.Diff(want, texts(s)); diff != "" || s.Labels["argocd.argoproj.io/secret-type"] != "repo-creds" {
		t.Error(s.Labels, diff)
	}
}

// What has one address takes that for https, which repositories are.
func TestRepositoriesUseTheProxyForHTTPS(t *testing.T) {
	e := proxied(t, "http://plain.example:3128")
	e.HTTPS = proxyurl.URL{}
	if s, err := FluxProxySecret(e); err != nil || texts(s)["address"] != "http://plain.example:3128" {
		t.Error(s, err)
	}
	e.HTTPS = proxied(t, "http://tls.example:3128").HTTP
	if s, err := FluxProxySecret(e); err != nil || texts(s)["address"] != "http://tls.example:3128" {
		t.Error(s, err)
	}
	if s, err := ArgoCDSecret(resolve.Effective{}, "https://"); err == nil {
		t.Error(s)
	}
}

func proxied(t *testing.T, url string) resolve.Effective {
	t.Helper()
	e := effective(t, "corp.example")
	u, err := proxyurl.Parse(url)
	if err != nil {
		t.Fatal(err)
	}
	e.HTTP, e.HTTPS = u, u
	return e
}

func texts(s Secret) map[string]string {
	all := map[string]string{}
	for key, value := range s.Data {
		all[key] = string(value)
	}
	return all
}
