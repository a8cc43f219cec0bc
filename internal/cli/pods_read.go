package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/internal/agents/pods"
	"github.com/fairlead-io/fairlead/internal/cli/cluster"
	"github.com/fairlead-io/fairlead/internal/cli/files"
	"github.com/fairlead-io/fairlead/internal/core/proxysecret"
)

// podsReader lists what package pods judges. Each kind is listed once.
type podsReader struct {
	lister
	namespace string
	found     pods.Cluster
	notes     []string
	blind     bool // one of the notes is about what a finding depends on
}

// readPods reads what concerns pods. What may not be read, but for the pods, is a note.
func readPods(cmd *cobra.Command, opts podsOptions) (*podsReader, error) {
	r := &podsReader{namespace: opts.Namespace, notes: []string{}}
	if len(opts.files) > 0 {
		documents, err := files.Documents(opts.files, opts.recursive, cmd.InOrStdin())
		if err != nil {
			return nil, err
		}
		r.lister = fileLister{documents}
		if opts.AllNamespaces {
			r.namespace = ""
		}
	} else {
		cluster, err := cluster.Connect(opts.Options)
		if err != nil {
			return nil, err
		}
		r.lister, r.namespace = cluster, cluster.Namespace
	}
	return r, r.read(cmd.Context())
}

func (r *podsReader) read(ctx context.Context) error {
	for _, read := range []func(context.Context) error{r.readPods, r.readOwners, r.readNamespaces, r.readPolicy, r.readSecrets} {
		if err := read(ctx); err != nil {
			return err
		}
	}
	return nil
}

// unread makes a note of what may not be read; another error is one.
func (r *podsReader) unread(resource schema.GroupVersionResource, err error, consequence string) error {
	why := "may not list " + resource.GroupResource().String()
	if absent := (notInFiles{}); errors.As(err, &absent) {
		why = absent.Error()
	} else if !apierrors.IsForbidden(err) {
		return fmt.Errorf("listing %s: %w", resource.Resource, err)
	}
	r.notes = append(r.notes, consequence+": "+why)
	r.blind = r.blind || resource.Group != "apps" && resource.Group != "batch" // those only say who owns a pod
	return nil
}

func (r *podsReader) readPods(ctx context.Context) error {
	list, err := r.Objects(ctx, corev1.SchemeGroupVersion.WithResource("pods"), r.namespace)
	if err != nil {
		return fmt.Errorf("listing pods: %w", err)
	}
	r.found.Pods = make([]corev1.Pod, len(list))
	for i := range list {
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(list[i].Object, &r.found.Pods[i]); err != nil {
			return fmt.Errorf("pod %s/%s: not as this version knows pods", list[i].GetNamespace(), list[i].GetName())
		}
	}
	return nil
}

// readOwners leads from what makes pods to what people write: Deployments, CronJobs.
func (r *podsReader) readOwners(ctx context.Context) error {
	r.found.Owners = map[pods.Owner]pods.Owner{}
	for _, between := range []struct {
		kind     string
		resource schema.GroupVersionResource
	}{
		{"ReplicaSet", schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "replicasets"}},
		{"Job", schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}},
	} {
		list, err := r.Metadata(ctx, between.resource, r.namespace, "")
		if err != nil {
			if err := r.unread(between.resource, err, "cannot tell whose "+between.kind+"s are"); err != nil {
				return err
			}
		}
		for i := range list {
			itself := pods.Owner{Namespace: list[i].Namespace, Kind: between.kind, Name: list[i].Name}
			r.found.Owners[itself] = pods.ControllerOf(between.kind, &list[i])
		}
	}
	return nil
}

func (r *podsReader) readNamespaces(ctx context.Context) error {
	resource := corev1.SchemeGroupVersion.WithResource("namespaces")
	list, err := r.Metadata(ctx, resource, "", r.namespace)
	if err != nil {
		return r.unread(resource, err, "cannot tell whether a label of a namespace excludes")
	}
	if r.namespace != "" && len(list) == 0 {
		return fmt.Errorf("there is no namespace %q", r.namespace)
	}
	r.found.NamespaceLabels = map[string]map[string]string{}
	for _, namespace := range list {
		r.found.NamespaceLabels[namespace.Name] = namespace.Labels
	}
	return nil
}

var nativePolicies = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "mutatingadmissionpolicies"}

// readPolicy reads the policy of either engine. With both in force, the API server's own gets to see a pod first.
func (r *podsReader) readPolicy(ctx context.Context) error {
	ofKyverno := schema.GroupVersionResource{Group: "policies.kyverno.io", Version: "v1", Resource: "mutatingpolicies"}
	for _, resource := range []schema.GroupVersionResource{nativePolicies, ofKyverno} {
		list, err := r.Objects(ctx, resource, "")
		switch {
		case apierrors.IsNotFound(err), err != nil && r.found.Policy != nil && errors.As(err, &notInFiles{}): // not served, or not needed
			continue
		case err != nil:
			r.found.PolicyUnread = true
			if err := r.unread(resource, err, "cannot tell whether and since when there is the policy "+pods.PolicyName); err != nil {
				return err
			}
		}
		for _, object := range list {
			if object.GetName() == pods.PolicyName && (r.found.Policy == nil || r.found.Policy.Unready != "") {
				if err := r.take(ctx, object); err != nil {
					return err
				}
			}
		}
	}
	r.found.PolicyUnread = r.found.PolicyUnread && r.found.Policy == nil
	if r.found.Policy.ShowsPassword() {
		r.notes = append(r.notes, "the policy "+pods.PolicyName+" carries the values Literal: every pod that it injects shows the password")
	}
	return nil
}

func (r *podsReader) take(ctx context.Context, object unstructured.Unstructured) error {
	policy, err := pods.ReadPolicy(object)
	if err != nil {
		r.found.PolicyUnread, r.blind = true, true
		r.notes = append(r.notes, fmt.Sprintf("cannot follow the %s %s: %v", object.GetKind(), object.GetName(), err))
		return nil
	}
	r.found.Policy = policy
	if policy.Kind != pods.KindNative {
		return nil
	}
	resource := schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "mutatingadmissionpolicybindings"}
	bindings, err := r.Objects(ctx, resource, "")
	if err != nil {
		return r.unread(resource, err, "cannot tell whether the policy is bound")
	}
	for _, binding := range bindings {
		if name, _, _ := unstructured.NestedString(binding.Object, "spec", "policyName"); name == pods.PolicyName {
			return nil
		}
	}
	policy.Unready = "the policy has no MutatingAdmissionPolicyBinding"
	return nil
}

// readSecrets reads since when there are the present values.
func (r *podsReader) readSecrets(ctx context.Context) error {
	resource := corev1.SchemeGroupVersion.WithResource("secrets")
	list, err := r.Metadata(ctx, resource, r.namespace, proxysecret.Name)
	if err != nil {
		return r.unread(resource, err, "cannot tell what is outdated")
	}
	r.found.ChangedAt = map[string]time.Time{}
	for _, secret := range list {
		if at, known := changedAt(secret); known {
			r.found.ChangedAt[secret.Namespace] = at
		} else {
			r.blind = true
			r.notes = append(r.notes, fmt.Sprintf("cannot tell what is outdated in namespace %s: its Secret %s does not say when it changed", secret.Namespace, secret.Name))
		}
	}
	return nil
}

// changedAt is when the data of a Secret last became different: what the replicator says of its copies, and of the
// source what the API server does.
func changedAt(secret metav1.PartialObjectMetadata) (time.Time, bool) {
	if said, found := secret.Annotations[proxysecret.ChangedAtAnnotation]; found {
		at, err := time.Parse(time.RFC3339, said)
		return at, err == nil
	}
	return proxysecret.DataChangedAt(&secret), len(secret.ManagedFields) > 0 // which kubectl leaves out, unless told
}
