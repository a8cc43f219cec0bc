package charts_test

import (
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/helm"
	"github.com/fairlead-io/fairlead/e2e/policies"
	"github.com/fairlead-io/fairlead/e2e/repository"
)

// What docs/reference/versions.md says that the charts refuse.

func TestAKubernetesThatIsTooOldIsRefused(t *testing.T) {
	for _, chart := range []string{policies.Chart(), repository.Path("charts", "fairlead")} {
		for version, want := range map[string]string{"v1.29.9": "kubeVersion", "v1.30.0": "", "v1.36.3-gke.100": ""} {
			_, err := helm.Run(t.Context(), "template", chart, "--kube-version", version, "--set", "proxy.http=http://p:1", "--set", "proxy.noProxy=a")
			if want == "" {
				controlplanetest.Require(t, err)
			} else if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", version, err)
			}
		}
	}
}

// Helm knows what an API server serves when it asks one; these lists are as it would find them.
func TestAClusterAPIThatIsTooOldIsRefused(t *testing.T) {
	const v1beta1, v1beta2 = "cluster.x-k8s.io/v1beta1/Cluster", "cluster.x-k8s.io/v1beta2/Cluster"
	for name, test := range map[string]struct {
		served []string
		refuse bool
	}{
		"none yet":         {nil, false},
		"1.10 and older":   {[]string{v1beta1}, true},
		"1.11 and newer":   {[]string{v1beta1, v1beta2}, false},
		"without the old":  {[]string{v1beta2}, false},
		"none at all, yet": {[]string{"v1/Pod"}, false},
	} {
		args := []string{"template", repository.Path("charts", "fairlead"), "--set", "proxy.http=http://p:1"}
		for _, kind := range test.served {
			args = append(args, "--api-versions", kind)
		}
		_, err := helm.Run(t.Context(), args...)
		if refused := err != nil && strings.Contains(err.Error(), "Cluster API 1.11"); refused != test.refuse || !refused && err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
