package charts_test

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/helm"
)

// OpenShift's restricted-v2 gives each namespace a range of users, and refuses a pod that names another, as any number
// here would be (openshift/api, SecurityContextConstraints, runAsUser: MustRunAsRange). Elsewhere the image's counts.
func TestNoPodNamesAUserAndNoneIsRoot(t *testing.T) {
	manifest, err := helm.Template(t.Context(), helm.Release{Chart: chartFolder("fairlead"), Name: "fairlead", Namespace: "fairlead-system", Values: []any{values{"proxy": proxy(url, url, "a")}}})
	controlplanetest.Require(t, err)
	for name, objects := range map[string]rendered{
		"fairlead":          parse(t, manifest),
		"fairlead-policies": render(t, values{}),
	} {
		seen := 0
		for _, object := range objects {
			if object.GetKind() != "Deployment" {
				continue
			}
			seen++
			deployment := &appsv1.Deployment{}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, deployment); err != nil {
				t.Fatal(err)
			}
			spec := deployment.Spec.Template.Spec
			of := spec.SecurityContext
			if of == nil || of.RunAsNonRoot == nil || !*of.RunAsNonRoot {
				t.Errorf("%s: root is not ruled out", name)
			} else if of.RunAsUser != nil || of.RunAsGroup != nil || of.FSGroup != nil || len(of.SupplementalGroups) > 0 {
				t.Errorf("%s: the pod names a user or group", name)
			}
			for _, c := range append(append([]corev1.Container{}, spec.InitContainers...), spec.Containers...) {
				if c.SecurityContext.RunAsUser != nil || c.SecurityContext.RunAsGroup != nil {
					t.Errorf("%s: container %s names a user or group", name, c.Name)
				}
			}
		}
		if seen != 1 {
			t.Errorf("%s: %d Deployments", name, seen)
		}
	}
}
