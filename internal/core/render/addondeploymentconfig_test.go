package render

import (
	"errors"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/internal/core/proxyurl"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
)

func TestAnAddOnDeploymentConfigHasNoPasswordUnlessToldTo(t *testing.T) {
	e := effective(t, "any.example")
	e.Cluster = "4711"
	e.HTTP = parsed(t, "http://u:S3CRET@proxy.example:3128")
	e.HTTPS = e.HTTP
	for _, credentials := range []bool{false, true} {
		text, err := AddOnDeploymentConfig(e, credentials)
		if err != nil {
			t.Fatal(err)
		}
		var c struct {
			Spec struct {
				ProxyConfig struct{ HTTPProxy, HTTPSProxy, NoProxy string }
			}
		}
		if err := yaml.Unmarshal(text, &c); err != nil || !strings.Contains(string(text), `namespace: "4711"`) {
			t.Errorf("%v:\n%s", err, text)
		}
		if strings.Contains(c.Spec.ProxyConfig.HTTPProxy, "@") != credentials || strings.Contains(c.Spec.ProxyConfig.HTTPSProxy, "@") != credentials {
			t.Errorf("credentials %t:\n%s", credentials, text)
		}
		if c.Spec.ProxyConfig.NoProxy != "any.example" {
			t.Errorf("the list is %q", c.Spec.ProxyConfig.NoProxy)
		}
	}
}

// Addons have the URL in variables of their pods, in which kubelet reads $.
func TestAnAddOnDeploymentConfigHasNoDollar(t *testing.T) {
	e := effective(t, "any.example")
	e.HTTP = parsed(t, "http://u$$:a$$b$(HOME)@proxy.example:3128")
	e.HTTPS = e.HTTP
	for _, form := range resolve.Forms {
		e.Form = form
		text, err := AddOnDeploymentConfig(e, true)
		if err != nil || strings.Count(string(text), "Proxy: http://u%24%24:a%24%24b%24(HOME)@proxy.example:3128\n") != 2 {
			t.Errorf("%s: %v\n%s", form, err, text)
		}
	}
}

func TestAnAddOnDeploymentConfigOfAnUnproxiedClusterIsEmpty(t *testing.T) {
	text, err := AddOnDeploymentConfig(resolve.Effective{Cluster: "c", Mode: resolve.ModeDirect}, true)
	if err != nil || !strings.HasSuffix(string(text), "spec:\n  agentInstallNamespace: \"\"\n  proxyConfig: {}\n") {
		t.Errorf("%v:\n%s", err, text)
	}
}

func TestAnAddOnDeploymentConfigHasNoProxyThatSpeaksTLS(t *testing.T) {
	e := effective(t, "any.example")
	e.HTTPS = parsed(t, "https://u:S3CRET@proxy.example:3129")
	_, err := AddOnDeploymentConfig(e, true)
	var problem *resolve.Problem
	if !errors.As(err, &problem) || problem.Field != "AddOnDeploymentConfig spec.proxyConfig.httpsProxy" || strings.Contains(err.Error(), "S3CRET") {
		t.Errorf("the error is %v", err)
	}
}

func parsed(t *testing.T, text string) proxyurl.URL {
	t.Helper()
	u, err := proxyurl.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}
