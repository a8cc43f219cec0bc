package controlplane_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
)

func TestTheAuditLogCountsAWriteAtOnceAndShowsItsBody(t *testing.T) {
	cp := controlplanetest.Shared(t)
	namespace := controlplanetest.Namespace(t, cp)
	cfg, err := cp.ServiceAccount(t.Context(), namespace, "writer")
	controlplanetest.Require(t, err)
	cfg.UserAgent = "writer/1.0"
	allow(t, cp, namespace, "writer")
	awaitAllowed(t, clientsFor(t, cfg), namespace)
	maps := clientsFor(t, cfg).CoreV1().ConfigMaps(namespace)
	mark, err := cp.AuditMark()
	controlplanetest.Require(t, err)

	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "written"}, Data: map[string]string{"key": "find-me"}}
	_, err = maps.Create(t.Context(), object, metav1.CreateOptions{})
	controlplanetest.Require(t, err)
	_, err = maps.Get(t.Context(), "written", metav1.GetOptions{})
	controlplanetest.Require(t, err)

	events, err := cp.AuditEvents(mark, controlplane.Writes, controlplane.OnResource("", "configmaps"),
		controlplane.ByUser(controlplane.ServiceAccountUser(namespace, "writer")),
		controlplane.ByUserAgent("writer/"), controlplane.InNamespace(namespace))
	controlplanetest.Require(t, err)
	if len(events) != 1 {
		t.Fatalf("%d writes since the mark, want 1", len(events))
	}
	if !bytes.Contains(events[0].RequestObject.Raw, []byte("find-me")) {
		t.Errorf("the body is not in the event: %s", events[0].RequestObject.Raw)
	}

	end, err := cp.AuditMark()
	controlplanetest.Require(t, err)
	after, err := cp.AuditEvents(end, controlplane.InNamespace(namespace))
	controlplanetest.Require(t, err)
	if len(after) != 0 {
		t.Errorf("%d events after the last request, want none", len(after))
	}
}

func TestTheAuditLogHasNoSecretAndNoToken(t *testing.T) {
	cp := controlplanetest.Shared(t)
	namespace := controlplanetest.Namespace(t, cp)
	cfg, err := cp.ServiceAccount(t.Context(), namespace, "bearer")
	controlplanetest.Require(t, err)
	whoAmI(t, cfg)
	secrets := controlplanetest.Clients(t, cp).CoreV1().Secrets(namespace)
	mark, err := cp.AuditMark()
	controlplanetest.Require(t, err)
	_, err = secrets.Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "hidden"}, StringData: map[string]string{"password": "hide-me"},
	}, metav1.CreateOptions{})
	controlplanetest.Require(t, err)

	events, err := cp.AuditEvents(mark, controlplane.Writes, controlplane.OnResource("", "secrets"), controlplane.InNamespace(namespace))
	controlplanetest.Require(t, err)
	if len(events) != 1 || events[0].RequestObject != nil || events[0].ResponseObject != nil {
		t.Errorf("want one write without bodies, got %v", events)
	}
	log, err := os.ReadFile(filepath.Join(cp.Dir(), "audit.log"))
	controlplanetest.Require(t, err)
	for _, hidden := range []string{"hide-me", "aGlkZS1tZ", cfg.BearerToken} {
		if bytes.Contains(log, []byte(hidden)) {
			t.Errorf("%q is in the audit log", hidden)
		}
	}
}

// allow does not bind the ClusterRole edit: it is aggregated, and empty without a controller manager.
func allow(t *testing.T, cp *controlplane.ControlPlane, namespace, account string) {
	t.Helper()
	role := &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: account},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"*"}}},
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: account},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: account},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: account}},
	}
	rbac := controlplanetest.Clients(t, cp).RbacV1()
	_, err := rbac.Roles(namespace).Create(t.Context(), role, metav1.CreateOptions{})
	controlplanetest.Require(t, err)
	_, err = rbac.RoleBindings(namespace).Create(t.Context(), binding, metav1.CreateOptions{})
	controlplanetest.Require(t, err)
}

// awaitAllowed: the authorizer learns of a new binding a moment after it was written.
func awaitAllowed(t *testing.T, clients kubernetes.Interface, namespace string) {
	t.Helper()
	question := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: namespace, Verb: "create", Resource: "configmaps"},
	}}
	controlplanetest.Await(t, "the right to create ConfigMaps", func(ctx context.Context) (bool, error) {
		answer, err := clients.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, question, metav1.CreateOptions{})
		return err == nil && answer.Status.Allowed, err
	})
}
