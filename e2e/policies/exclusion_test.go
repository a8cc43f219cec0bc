package policies_test

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/policies"
	"github.com/fairlead-io/fairlead/e2e/tier"
)

const exclusionPolicy = "require-exclusion-authorization"

// The users, who may write everything that the policy is about. They differ in what they may exclude.
const (
	developer = "developer" // nothing
	lead      = "lead"      // in one namespace
	platform  = "platform"  // everywhere
)

// exclusion is a control plane with the policy and two namespaces. lead may exclude the objects in one of them.
type exclusion struct {
	cp         *controlplane.ControlPlane
	admin      client.Client
	users      map[string]client.Client
	own, other string
}

func startExclusion(t *testing.T) exclusion {
	t.Helper()
	cp := controlplanetest.Start(t, controlplane.Options{ControllerAccounts: true})
	controlplanetest.Require(t, cp.StartControllerManager(t.Context(), controlplane.ServiceAccounts,
		"deployment-controller", "replicaset-controller", "statefulset-controller", "job-controller"))
	clients := controlplanetest.Clients(t, cp)
	e := exclusion{cp: cp, users: map[string]client.Client{}, own: controlplanetest.Namespace(t, cp), other: controlplanetest.Namespace(t, cp)}
	e.admin = controlplanetest.Client(t, cp.Admin(), nil)
	for _, name := range []string{developer, lead, platform} {
		controlplanetest.Role(t, clients, name, rbacv1.PolicyRule{
			APIGroups: []string{"", "apps", "batch"}, Verbs: []string{"get", "create", "update", "patch"},
			Resources: []string{
				"namespaces", "namespaces/status", "namespaces/finalize", "pods", "replicationcontrollers",
				"daemonsets", "deployments", "replicasets", "statefulsets", "jobs", "cronjobs",
			},
		})
		config, err := cp.User(name)
		controlplanetest.Require(t, err)
		e.users[name] = controlplanetest.Client(t, config, nil)
	}
	role := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "fairlead-exclude"}
	subject := func(name string) []rbacv1.Subject {
		return []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: name}}
	}
	controlplanetest.Require(t, policies.Install(t.Context(), cp, policies.Values(), map[string]any{
		"engine": native, "exclude": map[string]any{"authorization": map[string]any{"enabled": true}},
	}))
	controlplanetest.Require(t, e.admin.Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: lead, Namespace: e.own}, RoleRef: role, Subjects: subject(lead),
	}))
	controlplanetest.Require(t, e.admin.Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "platform-excludes"}, RoleRef: role, Subjects: subject(platform),
	}))
	e.await(t)
	return e
}

// await ends when the policies act and rights are known.
func (e exclusion) await(t *testing.T) {
	t.Helper()
	controlplanetest.Await(t, "the refusal", func(ctx context.Context) (bool, error) {
		err := e.try(ctx, developer, pod(e.own, exclude(), nil))
		return controlplanetest.Holds(unauthorised(err), "not refused: %v", err)
	})
	controlplanetest.Await(t, "what was granted, and settings", func(ctx context.Context) (bool, error) {
		for _, user := range []string{lead, platform} {
			if err := e.try(ctx, user, pod(e.own, exclude(), nil)); err != nil {
				return false, err
			}
		}
		plain := pod(e.own, nil, nil)
		err := e.try(ctx, developer, plain)
		return len(plain.Spec.Containers[0].Env) == 6, err
	})
}

// try is a dry run.
func (e exclusion) try(ctx context.Context, user string, object client.Object) error {
	return e.users[user].Create(ctx, object, client.DryRunAll)
}

func unauthorised(err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), exclusionPolicy)
}

func exclude() map[string]string { return map[string]string{said: "exclude"} }

// excluding is the same as a patch.
const excluding = `{"metadata":{"labels":{"` + said + `":"exclude"}}}`

func merge(content string) client.Patch {
	return client.RawPatch(types.MergePatchType, []byte(content))
}

func pod(namespace string, labels, annotations map[string]string) *corev1.Pod {
	made := webPod("web")
	made.Namespace, made.Labels, made.Annotations = namespace, labels, annotations
	return made
}

// workloads are of all kinds that make pods, by the path of their pods' metadata.
func workloads(namespace string, labels, annotations map[string]string) map[string][]client.Object {
	meta := metav1.ObjectMeta{Name: "web", Namespace: namespace}
	one := map[string]string{"app": "web"}
	maps.Copy(one, labels)
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: one, Annotations: annotations}, Spec: pod("", nil, nil).Spec}
	once := template
	once.Spec.RestartPolicy = corev1.RestartPolicyNever
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	return map[string][]client.Object{
		"spec.template.metadata": {
			&appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{Selector: selector, Template: template}},
			&appsv1.DaemonSet{ObjectMeta: meta, Spec: appsv1.DaemonSetSpec{Selector: selector, Template: template}},
			&appsv1.StatefulSet{ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{Selector: selector, Template: template}},
			&appsv1.ReplicaSet{ObjectMeta: meta, Spec: appsv1.ReplicaSetSpec{Selector: selector, Template: template}},
			&corev1.ReplicationController{ObjectMeta: meta, Spec: corev1.ReplicationControllerSpec{Selector: selector.MatchLabels, Template: &template}},
			&batchv1.Job{ObjectMeta: meta, Spec: batchv1.JobSpec{Template: once}},
		},
		"spec.jobTemplate.spec.template.metadata": {
			&batchv1.CronJob{ObjectMeta: meta, Spec: batchv1.CronJobSpec{Schedule: "@yearly", JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: once}}}},
		},
		"metadata": {pod(namespace, labels, annotations)},
	}
}

func TestWhoExcludesNeedsTheRight(t *testing.T) {
	tier.Full(t)
	e := startExclusion(t)
	t.Run("NewPodsAndWorkloads", e.testNew)
	t.Run("Namespaces", e.testNamespaces)
	t.Run("AnUpdateOfWhatIsExcludedIsNotAskedAbout", e.testUpdates)
	t.Run("ControllersCopyWhatTheAuthorMaySay", e.testControllers)
}

func (e exclusion) testNew(t *testing.T) {
	for field, marks := range map[string][2]map[string]string{"labels": {exclude(), nil}, "annotations": {nil, exclude()}} {
		for path, objects := range workloads(e.own, marks[0], marks[1]) {
			for _, object := range objects {
				what := fmt.Sprintf("%T by %s", object, field)
				fresh := func(namespace string) client.Object {
					made := object.DeepCopyObject().(client.Object)
					made.SetNamespace(namespace)
					return made
				}
				err := e.try(t.Context(), developer, fresh(e.own))
				want := fmt.Sprintf("%s.%s: %s is exclude, and developer may not exclude ", path, field, said)
				if !unauthorised(err) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), e.own+"/web from") ||
					!strings.Contains(err.Error(), "Ask for the ClusterRole fairlead-exclude (verb exclude, resource exclusions.fairlead.io) in namespace "+e.own) {
					t.Errorf("%s: %v", what, err)
				}
				if err := e.try(t.Context(), lead, fresh(e.own)); err != nil {
					t.Errorf("%s, with the right: %v", what, err)
				}
				if err := e.try(t.Context(), lead, fresh(e.other)); !unauthorised(err) {
					t.Errorf("%s, in another namespace: %v", what, err)
				}
				if err := e.try(t.Context(), platform, fresh(e.other)); err != nil {
					t.Errorf("%s, with the right in all: %v", what, err)
				}
			}
		}
	}
	for _, objects := range workloads(e.own, map[string]string{said: "include"}, nil) {
		for _, object := range objects {
			if _, is := object.(*corev1.Pod); !is { // the mark on the workload itself says nothing about its pods
				object.SetLabels(exclude())
			}
			if err := e.try(t.Context(), developer, object); err != nil {
				t.Errorf("%T that excludes nothing: %v", object, err)
			}
		}
	}
}

func (e exclusion) testNamespaces(t *testing.T) {
	made := func(labels, annotations map[string]string) *corev1.Namespace {
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "made", Labels: labels, Annotations: annotations}}
	}
	err := e.try(t.Context(), developer, made(exclude(), nil))
	if !unauthorised(err) || !strings.Contains(err.Error(), "metadata.labels: "+said+" is exclude, and developer may not exclude the namespace made") ||
		!strings.Contains(err.Error(), "in all namespaces") {
		t.Errorf("a new one: %v", err)
	}
	controlplanetest.Require(t, e.try(t.Context(), platform, made(exclude(), nil)))
	controlplanetest.Require(t, e.try(t.Context(), developer, made(nil, exclude()))) // says nothing

	// The annotation, which says nothing, does not open the door to the label.
	annotated := merge(`{"metadata":{"annotations":{"` + said + `":"exclude"}}}`)
	controlplanetest.Require(t, e.users[developer].Patch(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: e.own}}, annotated))
	for user, may := range map[string]map[string]bool{
		developer: {}, lead: {e.own: true}, platform: {e.own: true, e.other: true},
	} {
		for _, name := range []string{e.own, e.other} {
			namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
			err := e.users[user].Patch(t.Context(), namespace, merge(excluding), client.DryRunAll)
			if may[name] && err != nil || !may[name] && (!unauthorised(err) || !strings.Contains(err.Error(), "in namespace "+name)) {
				t.Errorf("%s patches %s: %v", user, name, err)
			}
			err = e.users[user].SubResource("status").Patch(t.Context(), namespace, merge(excluding), client.DryRunAll)
			if may[name] != (err == nil) || err != nil && !unauthorised(err) {
				t.Errorf("%s patches the status of %s: %v", user, name, err)
			}
		}
	}
}

func (e exclusion) testUpdates(t *testing.T) {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: e.other}}
	controlplanetest.Require(t, e.admin.Patch(t.Context(), namespace.DeepCopy(), merge(excluding)))
	patch := func(user string, object client.Object, content string) error {
		return e.users[user].Patch(t.Context(), object.DeepCopyObject().(client.Object), merge(content), client.DryRunAll)
	}
	for name, content := range map[string]string{"another label": `{"metadata":{"labels":{"team":"a"}}}`, "no longer": `{"metadata":{"labels":{"` + said + `":null}}}`} {
		if err := patch(developer, namespace, content); err != nil {
			t.Errorf("a namespace, %s: %v", name, err)
		}
	}

	until := func(time string) string {
		return `{"metadata":{"annotations":{"fairlead.io/exclude-until":` + time + `}}}`
	}
	controlplanetest.Require(t, e.users[developer].Patch(t.Context(), namespace.DeepCopy(), merge(until(`"2030-01-01T00:00:00Z"`))))
	for _, time := range []string{`"2040-01-01T00:00:00Z"`, "null"} {
		err := patch(developer, namespace, until(time))
		if !unauthorised(err) || !strings.Contains(err.Error(), "metadata.annotations: fairlead.io/exclude-until is changed, and developer may not exclude the namespace "+e.other) {
			t.Errorf("the end of an exclusion becomes %s: %v", time, err)
		}
		controlplanetest.Require(t, patch(platform, namespace, until(time)))
	}

	deployment := workloads(e.own, exclude(), nil)["spec.template.metadata"][0].(*appsv1.Deployment)
	deployment.Name = "updated"
	controlplanetest.Require(t, e.users[lead].Create(t.Context(), deployment))
	for name, content := range map[string]string{
		"scaled":           `{"spec":{"replicas":2}}`,
		"restarted":        `{"spec":{"template":{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":"now"}}}}}`,
		"said another way": `{"spec":{"template":{"metadata":{"labels":{"` + said + `":null},"annotations":{"` + said + `":"exclude"}}}}}`,
		"no longer":        `{"spec":{"template":{"metadata":{"labels":{"` + said + `":null}}}}}`,
	} {
		if err := patch(developer, deployment, content); err != nil {
			t.Errorf("a Deployment, %s: %v", name, err)
		}
	}

	plain := pod(e.own, nil, nil)
	plain.Name = "updated"
	controlplanetest.Require(t, e.users[developer].Create(t.Context(), plain))
	if err := patch(developer, plain, excluding); !unauthorised(err) {
		t.Errorf("a pod that was not excluded: %v", err)
	}
	controlplanetest.Require(t, patch(lead, plain, excluding))
}

// The controllers are those of Kubernetes, with the service accounts that kubeadm gives them.
func (e exclusion) testControllers(t *testing.T) {
	want := map[string]bool{}
	for _, object := range workloads(e.own, exclude(), nil)["spec.template.metadata"] {
		switch object := object.(type) {
		case *appsv1.Deployment, *appsv1.StatefulSet, *batchv1.Job:
			object.SetName(strings.ToLower(strings.TrimPrefix(fmt.Sprintf("%T", object), "*v1.")))
			controlplanetest.Require(t, e.users[lead].Create(t.Context(), object))
			want[object.GetName()] = true
		}
	}
	controlplanetest.Await(t, "a pod of each", func(ctx context.Context) (bool, error) {
		var pods corev1.PodList
		if err := e.admin.List(ctx, &pods, client.InNamespace(e.own)); err != nil {
			return false, err
		}
		missing := maps.Clone(want)
		for _, pod := range pods.Items {
			for name := range missing {
				if strings.HasPrefix(pod.Name, name+"-") && pod.Labels[said] == "exclude" && len(pod.Spec.Containers[0].Env) == 0 {
					delete(missing, name)
				}
			}
		}
		return controlplanetest.Holds(len(missing) == 0, "no pod of %v", missing)
	})

	// Who says that a controller owns the pod is not that controller.
	var deployment appsv1.Deployment
	controlplanetest.Require(t, e.admin.Get(t.Context(), client.ObjectKey{Namespace: e.own, Name: "deployment"}, &deployment))
	forged := pod(e.own, exclude(), nil)
	forged.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "deployment", UID: deployment.UID, Controller: new(true)}}
	if err := e.try(t.Context(), developer, forged); !unauthorised(err) {
		t.Errorf("a pod with an owner: %v", err)
	}
}
