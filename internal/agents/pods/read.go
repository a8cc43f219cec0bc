package pods

import (
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/internal/core/proxysecret"
	"github.com/fairlead-io/fairlead/internal/core/selection"
)

// Lister reads objects of a cluster.
type Lister interface {
	Objects(ctx context.Context, resource schema.GroupVersionResource, namespace string) ([]unstructured.Unstructured, error)
	Metadata(ctx context.Context, resource schema.GroupVersionResource, namespace, name string) ([]metav1.PartialObjectMetadata, error)
}

// Reading is a cluster as it was read. Each kind is listed once.
type Reading struct {
	Cluster
	Notes []string // what could not be read, and what that means
	Blind bool     // one of the notes is about what a finding depends on

	from      Lister
	namespace string
}

// Read reads what concerns the pods of a namespace, or of all for "". What may not be read, but for the pods, is a note.
func Read(ctx context.Context, from Lister, namespace string) (*Reading, error) {
	r := &Reading{Notes: []string{}, from: from, namespace: namespace}
	for _, read := range []func(context.Context) error{r.readPods, r.readOwners, r.readNamespaces, r.readPolicy, r.readSecrets} {
		if err := read(ctx); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// unread notes a resource that may not be listed, or is not in the files. Any other error is returned.
func (r *Reading) unread(resource schema.GroupVersionResource, err error, consequence string) error {
	why := "may not list " + resource.GroupResource().String()
	if absent := (notInFiles{}); errors.As(err, &absent) {
		why = absent.Error()
	} else if !apierrors.IsForbidden(err) {
		return fmt.Errorf("listing %s: %w", resource.Resource, err)
	}
	r.Notes = append(r.Notes, consequence+": "+why)
	r.Blind = r.Blind || resource.Group != "apps" && resource.Group != "batch" // those only say who owns a pod
	return nil
}

func (r *Reading) readPods(ctx context.Context) error {
	list, err := r.from.Objects(ctx, corev1.SchemeGroupVersion.WithResource("pods"), r.namespace)
	if err != nil {
		return fmt.Errorf("listing pods: %w", err)
	}
	r.Pods = make([]corev1.Pod, len(list))
	for i := range list {
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(list[i].Object, &r.Pods[i]); err != nil {
			return fmt.Errorf("pod %s/%s: not as this version knows pods", list[i].GetNamespace(), list[i].GetName())
		}
	}
	return nil
}

// readOwners leads from what makes pods to what people write: Deployments, CronJobs.
func (r *Reading) readOwners(ctx context.Context) error {
	r.Owners = map[Owner]Owner{}
	for _, gvk := range []schema.GroupVersionKind{appsv1.SchemeGroupVersion.WithKind("ReplicaSet"), batchv1.SchemeGroupVersion.WithKind("Job")} {
		resource, _ := meta.UnsafeGuessKindToResource(gvk)
		list, err := r.from.Metadata(ctx, resource, r.namespace, "")
		if err != nil {
			if err := r.unread(resource, err, "cannot tell whose "+gvk.Kind+"s are"); err != nil {
				return err
			}
		}
		for i := range list {
			r.Owners[Owner{list[i].Namespace, gvk.Kind, list[i].Name}] = ControllerOf(gvk.Kind, &list[i])
		}
	}
	return nil
}

func (r *Reading) readNamespaces(ctx context.Context) error {
	resource := corev1.SchemeGroupVersion.WithResource("namespaces")
	list, err := r.from.Metadata(ctx, resource, "", r.namespace)
	if err != nil {
		return r.unread(resource, err, "cannot tell what started before its namespace was served, nor whether a label of a namespace excludes")
	}
	if r.namespace != "" && len(list) == 0 {
		return fmt.Errorf("there is no namespace %q", r.namespace)
	}
	r.NamespaceLabels, r.ExclusionEnded, r.ServedSince = map[string]map[string]string{}, map[string]time.Time{}, map[string]time.Time{}
	for _, namespace := range list {
		r.NamespaceLabels[namespace.Name] = namespace.Labels
		if end, err := time.Parse(time.RFC3339, namespace.Annotations[selection.Until]); err == nil && end.Before(time.Now()) {
			r.ExclusionEnded[namespace.Name] = end
		}
		served := namespace.Annotations[selection.Served]
		if since, err := time.Parse(time.RFC3339, served); err == nil {
			r.ServedSince[namespace.Name] = since
		} else if served == "" || served == selection.Unserved {
			r.ServedSince[namespace.Name] = Never
		}
	}
	return nil
}

var nativePolicies = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "mutatingadmissionpolicies"}

// readPolicy reads the policy of either engine. With both in force, the API server's own gets to see a pod first.
func (r *Reading) readPolicy(ctx context.Context) error {
	ofKyverno := schema.GroupVersionResource{Group: "policies.kyverno.io", Version: "v1", Resource: "mutatingpolicies"}
	for _, resource := range []schema.GroupVersionResource{nativePolicies, ofKyverno} {
		list, err := r.from.Objects(ctx, resource, "")
		switch {
		case apierrors.IsNotFound(err), err != nil && r.Policy != nil && errors.As(err, &notInFiles{}): // not served, or not needed
			continue
		case err != nil:
			r.PolicyUnread = true
			if err := r.unread(resource, err, "cannot tell whether and since when there is the policy "+PolicyName); err != nil {
				return err
			}
		}
		for _, object := range list {
			if object.GetName() == PolicyName && (r.Policy == nil || r.Policy.Unready != "") {
				if err := r.take(ctx, object); err != nil {
					return err
				}
			}
		}
	}
	r.PolicyUnread = r.PolicyUnread && r.Policy == nil
	if r.Policy.ShowsPassword() {
		r.Notes = append(r.Notes, "the policy "+PolicyName+" carries the values Literal: every pod that it injects shows the password")
	}
	return nil
}

func (r *Reading) take(ctx context.Context, object unstructured.Unstructured) error {
	policy, err := ReadPolicy(object)
	if err != nil {
		r.PolicyUnread, r.Blind = true, true
		r.Notes = append(r.Notes, fmt.Sprintf("cannot follow the %s %s: %v", object.GetKind(), object.GetName(), err))
		return nil
	}
	r.Policy = policy
	if policy.Kind != KindNative {
		return nil
	}
	resource := schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "mutatingadmissionpolicybindings"}
	bindings, err := r.from.Objects(ctx, resource, "")
	if err != nil {
		return r.unread(resource, err, "cannot tell whether the policy is bound")
	}
	for _, binding := range bindings {
		if name, _, _ := unstructured.NestedString(binding.Object, "spec", "policyName"); name == PolicyName {
			return nil
		}
	}
	policy.Unready = "the policy has no MutatingAdmissionPolicyBinding"
	return nil
}

// readSecrets reads since when there are the present values.
func (r *Reading) readSecrets(ctx context.Context) error {
	resource := corev1.SchemeGroupVersion.WithResource("secrets")
	list, err := r.from.Metadata(ctx, resource, r.namespace, proxysecret.Name)
	if err != nil {
		return r.unread(resource, err, "cannot tell what is outdated")
	}
	r.ChangedAt = map[string]time.Time{}
	for _, secret := range list {
		if at, ok := changedAt(secret); ok {
			r.ChangedAt[secret.Namespace] = at
		} else {
			r.Blind = true
			r.Notes = append(r.Notes, fmt.Sprintf("cannot tell what is outdated in namespace %s: its Secret %s does not say when it changed", secret.Namespace, secret.Name))
		}
	}
	return nil
}

// changedAt returns when the data of a Secret last became different: what the replicator says of its copies, and of the
// source what the API server does.
func changedAt(secret metav1.PartialObjectMetadata) (time.Time, bool) {
	if said, ok := secret.Annotations[proxysecret.ChangedAtAnnotation]; ok {
		at, err := time.Parse(time.RFC3339, said)
		return at, err == nil
	}
	return proxysecret.DataChangedAt(&secret), len(secret.ManagedFields) > 0 // which kubectl leaves out, unless told
}
