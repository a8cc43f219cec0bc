package charts_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/helm"
	"github.com/fairlead-io/fairlead/e2e/policies"
)

// Rendering without a cluster, as by Argo CD or helm-diff, gives the objects that an upgrade applies. There is no
// look-up, and nothing that only an install may do. The lists are those of an API server with Kyverno.
func TestFairleadPoliciesRendersTheSameForInstallAndUpgrade(t *testing.T) {
	const served = "v1/Pod,policies.kyverno.io/v1/MutatingPolicy,certificates.k8s.io/v1/ClusterTrustBundle,monitoring.coreos.com/v1/ServiceMonitor,monitoring.coreos.com/v1/PrometheusRule"
	for _, file := range variants(t, "fairlead-policies") {
		args := []string{"template", policies.Chart(), "--values", file, "--set", "engine=Kyverno,trustedCA.through=ClusterTrustBundle", "--api-versions", served}
		install, err := helm.Run(t.Context(), args...)
		controlplanetest.Require(t, err)
		upgrade, err := helm.Run(t.Context(), append(args, "--is-upgrade")...)
		controlplanetest.Require(t, err)
		if diff := cmp.Diff(string(install), string(upgrade)); diff != "" {
			t.Errorf("%s: -install +upgrade:\n%s", file, diff)
		}
	}
	templates, err := filepath.Glob(filepath.Join(policies.Chart(), "templates", "*"))
	controlplanetest.Require(t, err)
	for _, file := range templates {
		if strings.Contains(string(controlplanetest.ReadFile(t, file)), "lookup ") {
			t.Errorf("%s looks something up: not everything that renders a chart can, or may", file)
		}
	}
}

// Nothing refuses a change to the relay in one step. So what it means is said to who makes it.
func TestHelmSaysWhenNewPodsHaveAWayThroughTheRelay(t *testing.T) {
	for carry, want := range map[string]bool{"SecretRef": false, "Relay": true} {
		out, err := helm.Run(t.Context(), "install", policies.Release, policies.Chart(), "--dry-run=client", "--set", "carry="+carry)
		controlplanetest.Require(t, err)
		if strings.Contains(string(out), "kubectl rollout status daemonset/fairlead-relay") != want {
			t.Errorf("%s: the notes say it: %v", carry, !want)
		}
	}
}

// An API server says nothing about kubelets, so a new version of it changes no pod.
func TestAutoIsAConfigMapWhateverTheAPIServerServes(t *testing.T) {
	file := valuesFile(t, values{"engine": "Kyverno", "trustedCA": values{"enabled": true, "bundle": certificate}})
	args := []string{"template", policies.Chart(), "--values", file, "--api-versions", "certificates.k8s.io/v1/ClusterTrustBundle"}
	manifest, err := helm.Run(t.Context(), args...)
	controlplanetest.Require(t, err)
	if objects := parse(t, manifest); objects["ConfigMap/"+policies.TrustedCA] == nil || objects["ClusterTrustBundle/"+policies.TrustedCA] != nil {
		t.Error("there is no ConfigMap, or a ClusterTrustBundle")
	}
	for _, carry := range []string{"Literal", "Relay"} {
		_, err := helm.Run(t.Context(), append(args, "--set", "carry="+carry)...)
		if err == nil || !strings.Contains(err.Error(), "needs trustedCA.through: ClusterTrustBundle") {
			t.Errorf("%s: %v", carry, err)
		}
	}
}

// A policy and its binding come together, or nothing happens.
func TestNativeHasABindingForEachPolicy(t *testing.T) {
	bound, all := map[string]bool{}, map[string]bool{}
	for name := range render(t, policies.Values(), policies.Sidecars(), values{"engine": "Native", "trustedCA": values{"enabled": true, "bundle": certificate}}) {
		if policy, found := strings.CutPrefix(name, "MutatingAdmissionPolicy/"); found {
			all[policy] = true
		} else if policy, found := strings.CutPrefix(name, "MutatingAdmissionPolicyBinding/"); found {
			bound[policy] = true
		}
	}
	for _, one := range []string{"inject-proxy-env", "inject-trusted-ca", "tunnel-environment", "tunnel-relay", "tunnel-sidecar"} {
		if !all[one] {
			t.Errorf("no %s", one)
		}
	}
	if diff := cmp.Diff(all, bound); diff != "" {
		t.Errorf("-policies +bindings:\n%s", diff)
	}
}
